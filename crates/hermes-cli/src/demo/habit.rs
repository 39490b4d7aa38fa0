//! The habit that the demo counts: using the booking service.

use hermes::memory::{HabitRecognizer, Pattern, TurnTranscript};

/// Recognises turns in which the booking service was used.
#[derive(Debug)]
pub(crate) struct UsesBooking;

impl HabitRecognizer for UsesBooking {
    fn recognize(&self, turn: &TurnTranscript) -> Vec<Pattern> {
        if turn.tools_used.iter().any(|tool| tool == "booking_make_reservation") {
            vec![Pattern {
                key: "booking.used".to_owned(),
                description: "The user books restaurants through this assistant".to_owned(),
            }]
        } else {
            Vec::new()
        }
    }
}
