//! The look of a slide: the dashboard's light colours, one canvas, one scale of type.
//!
//! Everything is in points on a canvas of 960 by 540, from the top left. A point is 12,700 of the units of a `.pptx`, and
//! is the unit of a `.pdf`.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Colour(pub u32);

pub const SURFACE: Colour = Colour(0xff_ff_ff);
pub const PAGE: Colour = Colour(0xf7_f7_f5);
pub const SUNKEN: Colour = Colour(0xf2_f2_ef);
pub const LINE: Colour = Colour(0xe3_e2_dd);
pub const LINE_STRONG: Colour = Colour(0x8b_8b_86);
pub const INK: Colour = Colour(0x1b_1c_1f);
pub const INK_SOFT: Colour = Colour(0x5d_5f_66);
pub const ACCENT: Colour = Colour(0x2f_4b_d0);
pub const LOG_PAGE: Colour = Colour(0x1b_1d_21);
pub const LOG_INK: Colour = Colour(0xe4_e5_e8);
pub const LOG_DIM: Colour = Colour(0x98_9b_a4);

pub const WIDTH: f32 = 960.0;
pub const HEIGHT: f32 = 540.0;
/// Left and right of everything.
pub const MARGIN: f32 = 60.0;
pub const CONTENT_WIDTH: f32 = WIDTH - 2.0 * MARGIN;
/// Below a title, lines are shorter.
pub const SUBTITLE_WIDTH: f32 = 640.0;
pub const COLUMN_GAP: f32 = 40.0;
pub const COLUMN_WIDTH: f32 = (CONTENT_WIDTH - COLUMN_GAP) / 2.0;

pub const HEADING_TOP: f32 = 44.0;
pub const BODY_BOTTOM: f32 = 488.0;
pub const FOOTER_LINE: f32 = 502.0;
pub const FOOTER_SIZE: f32 = 11.0;

/// The short bar above a heading, and the tall one beside a title.
pub const MARK_WIDTH: f32 = 34.0;
pub const MARK_HEIGHT: f32 = 4.0;

pub const CODE_PADDING: f32 = 16.0;
pub const CELL_PADDING_X: f32 = 10.0;
pub const CELL_PADDING_Y: f32 = 7.0;
pub const QUOTE_INSET: f32 = 24.0;
pub const LIST_INDENT: f32 = 28.0;

impl Colour {
    #[must_use]
    pub fn hex(self) -> String {
        format!("{:06X}", self.0)
    }

    /// Red, green and blue, each from 0 to 1.
    #[must_use]
    pub fn parts(self) -> [f32; 3] {
        let [_, red, green, blue] = self.0.to_be_bytes();
        [red, green, blue].map(|part| f32::from(part) / 255.0)
    }
}
