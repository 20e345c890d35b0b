//! One file per page of the map.
