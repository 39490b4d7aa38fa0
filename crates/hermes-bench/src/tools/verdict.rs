//! Whether the verdicts on public calls are those of their files.

use hermes_core::{BoxError, UnknownFields};
use hermes_tools::{Repair, Verdict};

use super::call::Recorded;
/// How the verdicts agree.
#[derive(Debug, Default)]
pub(crate) struct Verdicts {
    pub(crate) valid: usize,
    pub(crate) accepted: usize,
    pub(crate) invalid: usize,
    pub(crate) refused: usize,
    /// Invalid calls that a lossless repair makes valid, where repair is on.
    pub(crate) mended: usize,
    /// The disagreements and the mended calls, in words.
    pub(crate) shown: Vec<String>,
}

/// Checks each call as it came: no repair, and unknown fields as the schema says.
pub(crate) fn compare(calls: &[Recorded]) -> Result<Verdicts, BoxError> {
    let mut found = Verdicts::default();
    for recorded in calls {
        let call = recorded.call(recorded.arguments.to_string());
        let verdict =
            recorded.registry(UnknownFields::AsSchema, Repair::Off)?.check(&call).ok_or("no such tool")?;
        let fits = matches!(verdict, Verdict::Fits { .. });
        if recorded.valid {
            found.valid += 1;
            found.accepted += usize::from(fits);
        } else {
            found.invalid += 1;
            found.refused += usize::from(!fits);
            let mended = recorded.registry(UnknownFields::AsSchema, Repair::On)?.check(&call);
            if let Some(Verdict::Fits { repaired, .. }) = mended {
                found.mended += 1;
                let repaired = repaired.join(", ");
                found
                    .shown
                    .push(format!("mended {}: {repaired}; the file says {:?}", recorded.id, recorded.why));
            }
        }
        if fits != recorded.valid {
            let why = &recorded.why;
            found
                .shown
                .push(format!("disagreement on {}: the file says {why:?}, here {verdict:?}", recorded.id));
        }
    }
    Ok(found)
}
