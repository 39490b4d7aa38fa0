//! Tools from a contract and a closure (T1).

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use hermes_core::{CallContext, JsonText, Tool, ToolError, ToolOutput, ToolSpec, async_trait};
use serde::de::DeserializeOwned;
use serde_json::{Number, Value};

/// A tool made of a contract and an async closure.
pub struct FnTool<A, F> {
    spec: Arc<ToolSpec>,
    run: F,
    arguments: PhantomData<fn() -> A>,
}

impl<A, F> FnTool<A, F> {
    /// Joins the two. The closure's argument type must accept what the contract's schema allows.
    #[must_use]
    pub fn new(spec: ToolSpec, run: F) -> Self {
        Self { spec: Arc::new(spec), run, arguments: PhantomData }
    }
}

impl<A, F> fmt::Debug for FnTool<A, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FnTool").field("name", &self.spec.name).finish_non_exhaustive()
    }
}

#[async_trait]
impl<A, O, F, Fut> Tool for FnTool<A, F>
where
    A: DeserializeOwned + Send + 'static,
    O: Into<ToolOutput>,
    F: Fn(A, CallContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<O, ToolError>> + Send + 'static,
{
    fn spec(&self) -> Arc<ToolSpec> {
        Arc::clone(&self.spec)
    }

    async fn call(&self, arguments: JsonText, context: CallContext) -> Result<ToolOutput, ToolError> {
        let arguments = read_arguments::<A>(&arguments)?;
        (self.run)(arguments, context).await.map(Into::into)
    }
}

/// A tool made of a contract and a closure that blocks its thread; it runs on the runtime's blocking pool.
///
/// Past its time it cannot be stopped: it is abandoned, its result is discarded, and [`abandoned`](Self::abandoned) counts it.
pub struct BlockingTool<A, F> {
    spec: Arc<ToolSpec>,
    run: Arc<F>,
    abandoned: Arc<AtomicU64>,
    arguments: PhantomData<fn() -> A>,
}

impl<A, F> BlockingTool<A, F> {
    /// Joins the two.
    #[must_use]
    pub fn new(spec: ToolSpec, run: F) -> Self {
        Self { spec: Arc::new(spec), run: Arc::new(run), abandoned: Arc::default(), arguments: PhantomData }
    }

    /// Counts abandoned runs in a counter of the caller's.
    pub(crate) fn counting_in(mut self, counter: Arc<AtomicU64>) -> Self {
        self.abandoned = counter;
        self
    }

    /// How many runs were given up while they went on.
    #[must_use]
    pub fn abandoned(&self) -> u64 {
        self.abandoned.load(Ordering::Relaxed)
    }
}

impl<A, F> fmt::Debug for BlockingTool<A, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BlockingTool").field("name", &self.spec.name).finish_non_exhaustive()
    }
}

/// Counts a run as abandoned when its future is dropped before the work has ended.
struct Watch {
    ended: Arc<AtomicBool>,
    abandoned: Arc<AtomicU64>,
}

impl Drop for Watch {
    fn drop(&mut self) {
        if !self.ended.load(Ordering::Acquire) {
            self.abandoned.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Tells that the work has ended, even by a panic.
struct Ended(Arc<AtomicBool>);

impl Drop for Ended {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

#[async_trait]
impl<A, O, F> Tool for BlockingTool<A, F>
where
    A: DeserializeOwned + Send + 'static,
    O: Into<ToolOutput>,
    F: Fn(A, CallContext) -> Result<O, ToolError> + Send + Sync + 'static,
{
    fn spec(&self) -> Arc<ToolSpec> {
        Arc::clone(&self.spec)
    }

    async fn call(&self, arguments: JsonText, context: CallContext) -> Result<ToolOutput, ToolError> {
        let arguments = read_arguments::<A>(&arguments)?;
        let run = Arc::clone(&self.run);
        let ended = Arc::new(AtomicBool::new(false));
        let _watch = Watch { ended: Arc::clone(&ended), abandoned: Arc::clone(&self.abandoned) };
        let span = tracing::Span::current();
        let work = tokio::task::spawn_blocking(move || {
            let _ended = Ended(ended);
            span.in_scope(|| run(arguments, context)).map(Into::into)
        });
        match work.await {
            Ok(result) => result,
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            Err(_) => Err(ToolError::Cancelled),
        }
    }
}

/// Reads checked arguments as the type of the closure.
///
/// JSON knows one kind of number: where a type asks for an integer and the text says `120.0`, the integer is meant.
pub(crate) fn read_arguments<A: DeserializeOwned>(arguments: &JsonText) -> Result<A, ToolError> {
    let first = match arguments.read::<A>() {
        Ok(read) => return Ok(read),
        Err(error) => error,
    };
    let whole = arguments.read::<Value>().map(whole_numbers).and_then(serde_json::from_value::<A>);
    whole.map_err(|second| {
        // The text was read without its places the second time; if both failed alike, either message will do.
        let shown = if second.is_data() { second } else { first };
        let text = hermes_text::mask_secrets(&shown.to_string()).into_owned();
        ToolError::InvalidArguments { message: hermes_text::truncate_chars(&text, 200).into_owned() }
    })
}

/// Writes numbers without a fraction as integers, where a double holds them exactly.
fn whole_numbers(value: Value) -> Value {
    match value {
        Value::Number(number) => Value::Number(whole_number(number)),
        Value::Array(items) => items.into_iter().map(whole_numbers).collect(),
        Value::Object(fields) => {
            fields.into_iter().map(|(name, value)| (name, whole_numbers(value))).collect()
        }
        other => other,
    }
}

fn whole_number(number: Number) -> Number {
    let Some(double) = number.as_f64().filter(|_| number.is_f64()) else { return number };
    let exact = double.fract() == 0.0 && double.abs() < 9_007_199_254_740_992.0;
    // Printing and reading is the conversion that cannot truncate.
    if exact { format!("{double:.0}").parse::<i64>().map_or(number, Number::from) } else { number }
}

/// The JSON Schema of a Rust type, for [`ToolSpec::input_schema`]: the explicit schema, derived (T1).
///
/// Types used once or more are written in place; recursive ones are referred to locally.
///
/// ```
/// # use hermes_tools::schema_for;
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Wait {
///     /// How long to wait.
///     seconds: u64,
/// }
///
/// let schema = schema_for::<Wait>();
/// assert_eq!(schema["type"], "object");
/// assert_eq!(schema["required"], serde_json::json!(["seconds"]));
/// ```
#[cfg(feature = "schemars")]
#[must_use]
pub fn schema_for<T: schemars::JsonSchema>() -> Value {
    let settings = schemars::generate::SchemaSettings::draft2020_12().for_deserialize().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    settings.into_generator().into_root_schema_for::<T>().to_value()
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Debug, Deserialize, PartialEq)]
    struct Wait {
        seconds: u64,
        retries: Option<u32>,
        note: Option<String>,
    }

    fn read(text: &str) -> Result<Wait, ToolError> {
        read_arguments(&JsonText::parse(text).unwrap())
    }

    #[test]
    fn whole_numbers_are_integers_however_they_are_written() {
        for text in [r#"{"seconds":120}"#, r#"{"seconds":120.0}"#, r#"{"seconds":1.2e2}"#] {
            assert_eq!(read(text).unwrap().seconds, 120, "{text}");
        }
        assert_eq!(read(r#"{"seconds":5.0,"retries":2.0}"#).unwrap().retries, Some(2));
        assert_eq!(whole_numbers(json!([1.5, 1e300, -3.0, "2.0"])), json!([1.5, 1e300, -3, "2.0"]));
    }

    #[test]
    fn what_the_type_refuses_is_a_correctable_error_without_secrets() {
        let error = read(r#"{"seconds":"password=hunter22x"}"#).unwrap_err();
        assert!(
            matches!(&error, ToolError::InvalidArguments { message } if !message.contains("hunter22x")),
            "{error}"
        );
        assert!(read(r#"{"seconds":18446744073709551616}"#).is_err());
    }
}
