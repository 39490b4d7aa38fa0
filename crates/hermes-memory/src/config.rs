//! The numbers and switches of the memory, with their defaults.

use std::time::Duration;

use serde::{Deserialize, Serialize};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// How the memory works. The defaults are those of the requirements named at each field.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct MemoryConfig {
    /// Memories extracted from what the user says: on, weight 1 (R3, R5).
    pub explicit: PathConfig,
    /// Habits counted from what the user does: off, weight 0.8 (R4, R5).
    pub implicit: PathConfig,
    /// How recall chooses (R6).
    pub recall: RecallConfig,
    /// A memory is written when its confidence lies above this: 0.8 (R3).
    pub min_confidence: f32,
    /// How often an extraction that fails or cannot be read is tried in all: 2.
    pub extraction_attempts: u32,
    /// The longest sentence that is kept, in characters: 400. What is longer is no memory but a document.
    pub max_content_chars: usize,
    /// How long an episodic memory lives: 7 days (R8).
    pub episodic_life: Duration,
    /// How long a superseded memory is kept as history: 90 days.
    pub history_life: Duration,
    /// A pattern seen more often than this becomes a habit: 3 (R4).
    pub habit_threshold: u32,
}

impl Default for MemoryConfig {
    fn default() -> Self {
        Self {
            explicit: PathConfig { switch: Switch::On, weight: 1.0 },
            implicit: PathConfig { switch: Switch::Off, weight: 0.8 },
            recall: RecallConfig::default(),
            min_confidence: 0.8,
            extraction_attempts: 2,
            max_content_chars: 400,
            episodic_life: 7 * DAY,
            history_life: 90 * DAY,
            habit_threshold: 3,
        }
    }
}

/// Whether a path is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Switch {
    /// It is.
    On,
    /// It is not.
    Off,
}

/// One of the two ways in which memories come about (R5).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PathConfig {
    /// Whether it is used.
    pub switch: Switch,
    /// What its memories count when they are ranked; 1 is usual.
    pub weight: f32,
}

impl PathConfig {
    /// Whether it is used.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.switch == Switch::On
    }
}

/// How recall chooses (R6).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct RecallConfig {
    /// The calibrated likeness at which a memory passes: 0.45.
    pub threshold: f32,
    /// The likeness at which it passes when it also holds the rarest telling word of the message: 0.1.
    ///
    /// The bundled embedder gives "Book the Sichuan place I mentioned …" 0.21 with "The user's favourite Sichuan restaurant is …", and
    /// "Order me a peanut satay" 0.18 with a peanut allergy. On its evaluation set, whose questions share few words with
    /// their memories, 0.1 adds 3 memories to 27 over 30 questions.
    pub vouched_threshold: f32,
    /// How many telling words of the message a memory has to hold to pass without any likeness: 2. A message that has fewer
    /// has to be held whole.
    pub lexical_gate: usize,
    /// The most memories: 5.
    pub max: usize,
    /// How long ago a memory may have been updated, unless it is a fact: 30 days.
    pub max_age: Duration,
    /// The most time it may take: 300 ms.
    pub budget: Duration,
    /// What the words count in the ranking: 0.7.
    ///
    /// Measured on LoCoMo's turns with the bundled embedder: recall at 5 is .534, against .515 of words alone
    /// and .512 of reciprocal rank fusion.
    pub lexical_weight: f32,
    /// What the likeness counts in the ranking: 0.3.
    pub vector_weight: f32,
    /// How many candidates of each kind a layer is asked for: 50.
    pub candidates: usize,
    /// A message with fewer telling words than this is taken together with the lines before it: 2.
    pub short_message: usize,
}

impl Default for RecallConfig {
    fn default() -> Self {
        Self {
            threshold: 0.45,
            vouched_threshold: 0.1,
            lexical_gate: 2,
            max: 5,
            max_age: 30 * DAY,
            budget: Duration::from_millis(300),
            lexical_weight: 0.7,
            vector_weight: 0.3,
            candidates: 50,
            short_message: 2,
        }
    }
}
