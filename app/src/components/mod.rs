//! Parts without knowledge of jobs.
