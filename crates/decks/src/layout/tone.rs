//! The sizes of type on one kind of slide.

use crate::model::Layout;
use crate::text::metrics::Face;

/// A face and the distance of its baselines.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Type {
    pub face: Face,
    pub leading: f32,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tone {
    pub width: f32,
    body: f32,
    quote: f32,
    pub code: f32,
    /// What spaces between blocks are multiplied by.
    pub scale: f32,
}

impl Tone {
    pub fn of(layout: Layout, width: f32) -> Self {
        let (body, quote, code) = match layout {
            Layout::TwoColumn => (17.0, 17.0, 12.0),
            Layout::Title => (22.0, 22.0, 14.0),
            Layout::Quote => (20.0, 27.0, 14.0),
            _ => (20.0, 20.0, 14.0),
        };
        Self { width, body, quote, code, scale: 1.0 }
    }

    /// Everything larger, for slides that hold little.
    pub fn scaled(self, scale: f32) -> Self {
        let [body, quote, code] = [self.body, self.quote, self.code].map(|size| (size * scale).round());
        Self { body, quote, code, scale, ..self }
    }

    pub fn body(&self) -> Type {
        spaced(Face::regular(self.body))
    }

    pub fn subheading(&self) -> Type {
        spaced(Face::bold(self.body))
    }

    pub fn quote(&self) -> Type {
        spaced(Face::italic(self.quote))
    }

    pub fn attribution(&self) -> Type {
        spaced(Face::regular(self.body * 0.8))
    }

    pub fn item(&self, level: u8) -> Type {
        let smaller = match level {
            0 => 0.0,
            1 => 2.0,
            _ => 4.0,
        };
        spaced(Face::regular(self.body - smaller))
    }

    pub fn code_leading(&self) -> f32 {
        (self.code * 1.45).round()
    }

    /// Tables with many columns are set smaller.
    pub fn cell(&self, columns: usize) -> Type {
        let size = match columns {
            0..=5 => self.body * 0.75,
            6..=9 => self.body * 0.6,
            _ => self.body * 0.45,
        };
        spaced(Face::regular(size))
    }
}

pub fn spaced(face: Face) -> Type {
    Type { face, leading: (face.size * 1.38).round() }
}
