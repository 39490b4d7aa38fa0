//! What the model is told: every sentence that Hermes itself says in a result, in English and Chinese (T3).
//!
//! The texts are made to be acted on: what is wrong, where, what would be right, and what to do next. They are bounded whatever the
//! schema or the arguments, and pinned by snapshots.

use std::time::Duration;

use hermes_core::{FailureKind, ToolOutcome};
use hermes_text::Language;

use crate::validate::{Problem, Violation};

/// How many characters of a name or of a foreign error are repeated.
const NAME: usize = 80;

/// How many characters one violation takes at most, whatever the names and values in the schema.
const LINE: usize = 800;

/// How many names of tools are listed for a wrong one.
const TOOLS: usize = 20;

/// Says things in one language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wording {
    language: Language,
}

/// What is wrong with the arguments of a call as a whole, or in detail.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ArgumentFault {
    /// They are not JSON.
    NotJson {
        /// The parser's words.
        reason: String,
    },
    /// They are JSON and no object.
    NotAnObject {
        /// What they are.
        got: &'static str,
    },
    /// They break the contract.
    Violations(Vec<Violation>),
}

/// What right arguments look like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Pattern {
    /// An example of the contract's own.
    Example(String),
    /// The required fields, with their types for values.
    Shape(String),
}

/// Counts what a text costs; feedback stops before `limit`.
pub(crate) struct Room<'a> {
    pub(crate) count: &'a dyn Fn(&str) -> usize,
    pub(crate) limit: usize,
}

impl Wording {
    /// Speaks a language.
    #[must_use]
    pub(crate) const fn new(language: Language) -> Self {
        Self { language }
    }

    fn say(self, english: impl FnOnce() -> String, chinese: impl FnOnce() -> String) -> String {
        match self.language {
            Language::English => english(),
            Language::Chinese => chinese(),
        }
    }

    /// The arguments are wrong: all that is wrong, and the request to correct and call again.
    pub(crate) fn refused(
        self,
        tool: &str,
        fault: &ArgumentFault,
        model: Option<&Pattern>,
        room: &Room<'_>,
    ) -> ToolOutcome {
        let tool = short(tool);
        let first = self.say(
            || format!("The arguments of {tool} are wrong, and it was not run:"),
            || format!("{tool} 的参数有误，工具没有执行："),
        );
        let last = self
            .say(|| format!("Correct this and call {tool} again."), || format!("请改正后再次调用 {tool}。"));
        let lines = match fault {
            ArgumentFault::NotJson { reason } => {
                let reason = short(reason);
                vec![self.say(
                    || format!("- they are not valid JSON: {reason}. Send one JSON object"),
                    || format!("- 不是合法的 JSON：{reason}。请发送一个 JSON 对象"),
                )]
            }
            ArgumentFault::NotAnObject { got } => vec![self.say(
                || format!("- expected a JSON object, got {got}"),
                || format!("- 应为 JSON 对象，收到的是 {got}"),
            )],
            ArgumentFault::Violations(violations) => {
                violations.iter().map(|violation| self.violation(violation)).collect()
            }
        };
        let example = model.map(|model| match model {
            Pattern::Example(example) => {
                self.say(|| format!("Example: {example}"), || format!("示例：{example}"))
            }
            Pattern::Shape(shape) => {
                self.say(|| format!("Required at least: {shape}"), || format!("至少需要：{shape}"))
            }
        });
        ToolOutcome::failure(
            FailureKind::InvalidArguments,
            self.fitted(&first, &lines, example.as_deref(), &last, room),
        )
    }

    /// As many lines as there is room for; first and last are always said.
    fn fitted(
        self,
        first: &str,
        lines: &[String],
        example: Option<&str>,
        last: &str,
        room: &Room<'_>,
    ) -> String {
        let more =
            |left: usize| self.say(|| format!("- … and {left} more"), || format!("- ……另有 {left} 处"));
        let reserved = (room.count)(first) + (room.count)(last) + (room.count)(&more(lines.len()));
        let mut used = reserved;
        let mut kept = Vec::new();
        for line in lines {
            used = used.saturating_add((room.count)(line) + 1);
            if used > room.limit && !kept.is_empty() {
                break;
            }
            kept.push(line.as_str());
        }
        let left = lines.len() - kept.len();
        let more = (left > 0).then(|| more(left));
        let example = example.filter(|example| used.saturating_add((room.count)(example)) <= room.limit);
        let parts = std::iter::once(first)
            .chain(kept)
            .chain(more.as_deref())
            .chain(example)
            .chain(std::iter::once(last));
        parts.collect::<Vec<_>>().join("\n")
    }

    fn violation(self, violation: &Violation) -> String {
        let at = hermes_text::truncate_chars(&violation.pointer, NAME * 2);
        let said = match &violation.problem {
            Problem::Missing { expected, written_as } => {
                let renamed = written_as.as_ref().map_or_else(String::new, |written| {
                    self.say(|| format!("; you wrote {written:?}"), || format!("；你写成了 {written:?}"))
                });
                self.say(
                    || format!("required field is missing; expected {expected}{renamed}"),
                    || format!("缺少必填字段；应为 {expected}{renamed}"),
                )
            }
            Problem::Unknown { nearest, known } => {
                let meant = nearest.as_ref().map_or_else(String::new, |nearest| {
                    self.say(
                        || format!("; did you mean {nearest:?}?"),
                        || format!("；是否想写 {nearest:?}？"),
                    )
                });
                let fields = known.join(", ");
                let there_are = if known.is_empty() {
                    self.say(|| " It takes no fields".to_owned(), || "它没有任何字段".to_owned())
                } else {
                    self.say(|| format!(" Known fields: {fields}"), || format!("已知字段：{fields}"))
                };
                let stop = if meant.is_empty() {
                    self.say(|| ".".to_owned(), || "。".to_owned())
                } else {
                    String::new()
                };
                self.say(
                    || format!("unknown field{meant}{stop}{there_are}"),
                    || format!("未知字段{meant}{stop}{there_are}"),
                )
            }
            Problem::WrongType { expected, got, shown } => {
                let expected = expected.join(" | ");
                let shown = if matches!(*got, "null") { String::new() } else { format!(" {shown}") };
                self.say(
                    || format!("expected {expected}, got {got}{shown}"),
                    || format!("应为 {expected}，收到 {got}{shown}"),
                )
            }
            Problem::NotAllowed { allowed, more, nearest, shown } => {
                let mut listed = allowed.join(", ");
                if *more > 0 {
                    listed.push_str(
                        &self.say(|| format!(", … and {more} more"), || format!("……另有 {more} 个")),
                    );
                }
                // The likely one stands before the list: cutting a long line keeps it.
                let meant = nearest.as_ref().map_or_else(String::new, |nearest| {
                    self.say(|| format!("; did you mean {nearest}?"), || format!("；是否想写 {nearest}？"))
                });
                let stop = if meant.is_empty() {
                    self.say(|| ".".to_owned(), || "。".to_owned())
                } else {
                    String::new()
                };
                self.say(
                    || format!("got {shown}, which is not allowed{meant}{stop} Allowed: {listed}"),
                    || format!("收到 {shown}，不在允许的值之中{meant}{stop}允许的值：{listed}"),
                )
            }
            Problem::Limit { rule, limit, shown } => {
                let expected = self.limit(rule, limit);
                self.say(
                    || format!("expected {expected}, got {shown}"),
                    || format!("应为{expected}，收到 {shown}"),
                )
            }
            Problem::NoAlternative { alternatives, shown } => {
                let listed = alternatives.join("; ");
                self.say(
                    || format!("must fit exactly what one of these asks: {listed}; got {shown}"),
                    || format!("应符合以下形式之一：{listed}；收到 {shown}"),
                )
            }
            Problem::Rule { rule, shown } => self.say(
                || format!("breaks the schema's rule {rule}; got {shown}"),
                || format!("不符合规则 {rule}；收到 {shown}"),
            ),
        };
        let line = if at.is_empty() {
            self.say(|| format!("- arguments: {said}"), || format!("- 整体：{said}"))
        } else {
            self.say(|| format!("- {at}: {said}"), || format!("- {at}：{said}"))
        };
        hermes_text::truncate_chars(&line, LINE).into_owned()
    }

    fn limit(self, rule: &str, limit: &str) -> String {
        let (english, chinese) = match rule {
            "minimum" => (format!("at least {limit}"), format!("不小于 {limit}")),
            "maximum" => (format!("at most {limit}"), format!("不大于 {limit}")),
            "exclusiveMinimum" => (format!("more than {limit}"), format!("大于 {limit}")),
            "exclusiveMaximum" => (format!("less than {limit}"), format!("小于 {limit}")),
            "multipleOf" => (format!("a multiple of {limit}"), format!("{limit} 的倍数")),
            "minLength" => (format!("at least {limit} characters"), format!("至少 {limit} 个字符")),
            "maxLength" => (format!("at most {limit} characters"), format!("至多 {limit} 个字符")),
            "minItems" => (format!("at least {limit} items"), format!("至少 {limit} 项")),
            "maxItems" => (format!("at most {limit} items"), format!("至多 {limit} 项")),
            "minProperties" => (format!("at least {limit} fields"), format!("至少 {limit} 个字段")),
            "maxProperties" => (format!("at most {limit} fields"), format!("至多 {limit} 个字段")),
            "pattern" => (format!("text matching the pattern {limit}"), format!("匹配模式 {limit} 的文本")),
            _ => (format!("{rule} {limit}"), format!(" {rule} {limit}")),
        };
        self.say(|| english, || chinese)
    }

    /// There is no such tool. The nearest come first, so that cutting keeps them.
    pub(crate) fn unknown_tool(self, name: &str, tools: &[&str]) -> ToolOutcome {
        let shown = short(name);
        let nearest = nearest_tools(name, tools);
        let others: Vec<&str> =
            tools.iter().copied().filter(|tool| !nearest.contains(tool)).take(TOOLS).collect();
        let left = tools.len() - others.len() - nearest.len();
        let mut listed = others.join(", ");
        if left > 0 {
            listed.push_str(&self.say(|| format!(", … and {left} more"), || format!("……另有 {left} 个")));
        }
        let meant = nearest.join(", ");
        let said = match (nearest.is_empty(), others.is_empty()) {
            (true, true) => self.say(
                || format!("There is no tool {shown:?}; there are no tools at all. Answer without one."),
                || format!("没有名为 {shown:?} 的工具，也没有任何其他工具。请直接回答。"),
            ),
            (false, true) => self.say(
                || format!("There is no tool {shown:?}. Did you mean {meant}? Call it again by an existing name."),
                || format!("没有名为 {shown:?} 的工具。是否想用 {meant}？请用现有的名称重新调用。"),
            ),
            (false, false) => self.say(
                || format!("There is no tool {shown:?}. Did you mean {meant}? Other tools: {listed}. Call again by an existing name."),
                || format!("没有名为 {shown:?} 的工具。是否想用 {meant}？其他工具：{listed}。请用现有的名称重新调用。"),
            ),
            (true, false) => self.say(
                || format!("There is no tool {shown:?}. Tools: {listed}. Call again by an existing name."),
                || format!("没有名为 {shown:?} 的工具。现有工具：{listed}。请用现有的名称重新调用。"),
            ),
        };
        ToolOutcome::failure(FailureKind::UnknownTool, said)
    }

    /// The tool itself refuses what the schema allows.
    pub(crate) fn refused_by_tool(self, tool: &str, message: &str) -> ToolOutcome {
        let said = self.say(
            || format!("{tool} refused the arguments: {message}\nCorrect this and call {tool} again."),
            || format!("{tool} 拒绝了这些参数：{message}\n请改正后再次调用 {tool}。"),
        );
        ToolOutcome::failure(FailureKind::InvalidArguments, said)
    }

    /// Past its time, and nothing that matters has happened.
    pub(crate) fn timed_out(self, tool: &str, limit: Duration) -> ToolOutcome {
        let limit = in_words(limit);
        let said = self.say(
            || format!("{tool} did not finish within {limit} and was stopped."),
            || format!("{tool} 未能在 {limit} 内完成，已停止。"),
        );
        ToolOutcome::failure(FailureKind::TimedOut, said)
    }

    /// It may or may not have happened. The sentence must not invite a repeat.
    pub(crate) fn unknown(self, tool: &str, why: &Unknown) -> ToolOutcome {
        let why = match why {
            Unknown::TimedOut(limit) => {
                let limit = in_words(*limit);
                self.say(|| format!("it did not finish within {limit}"), || format!("未能在 {limit} 内完成"))
            }
            Unknown::Lost(message) => {
                self.say(|| format!("its answer was lost ({message})"), || format!("结果丢失（{message}）"))
            }
            Unknown::Cancelled => {
                self.say(|| "it was cancelled while it ran".to_owned(), || "执行中被取消".to_owned())
            }
            Unknown::Crashed => {
                self.say(|| "the program stopped while it ran".to_owned(), || "执行中程序中断".to_owned())
            }
            Unknown::Panicked => {
                self.say(|| "it broke off while it ran".to_owned(), || "执行中异常中止".to_owned())
            }
        };
        let said = self.say(
            || format!("The outcome of {tool} is unknown: {why}. It may or may not have taken effect, and it was not repeated. \
                        Tell the user, and check the result before doing it again."),
            || format!("{tool} 的结果未知：{why}。它可能已经生效，也可能没有；系统没有重复执行。请告知用户，并先核实结果再决定是否重做。"),
        );
        ToolOutcome::failure(FailureKind::OutcomeUnknown, said)
    }

    pub(crate) fn panicked(self, tool: &str) -> ToolOutcome {
        let said = self.say(
            || format!("{tool} failed: it has a defect and broke off."),
            || format!("{tool} 执行失败：工具内部出错。"),
        );
        ToolOutcome::failure(FailureKind::Failed, said)
    }

    pub(crate) fn denied(self, tool: &str, reason: &str) -> ToolOutcome {
        let said = self.say(
            || format!("{tool} was not allowed to run: {reason}"),
            || format!("不允许执行 {tool}：{reason}"),
        );
        ToolOutcome::failure(FailureKind::Denied, said)
    }

    pub(crate) fn cancelled(self, tool: &str) -> ToolOutcome {
        let said = self.say(
            || format!("{tool} was cancelled and did nothing that matters."),
            || format!("{tool} 已取消，没有产生影响。"),
        );
        ToolOutcome::failure(FailureKind::Cancelled, said)
    }

    pub(crate) fn in_progress(self, tool: &str) -> ToolOutcome {
        let said = self.say(
            || format!("The same call of {tool} is running already. It was not started a second time; its result will follow there."),
            || format!("相同的 {tool} 调用正在执行，没有重复启动；结果将由那次调用给出。"),
        );
        ToolOutcome::failure(FailureKind::InProgress, said)
    }

    /// There is no store for keys: an effect cannot be made to happen once.
    pub(crate) fn no_store(self, tool: &str) -> ToolOutcome {
        let said = self.say(
            || format!("{tool} was not run: it changes things, and this program keeps no record that would prevent doing it twice \
                        (its registry has no idempotency store)."),
            || format!("{tool} 没有执行：它会产生影响，而本程序没有防止重复执行的记录（注册表未配置幂等存储）。"),
        );
        ToolOutcome::failure(FailureKind::Failed, said)
    }

    /// Something needed for running it failed before anything happened.
    pub(crate) fn not_started(self, tool: &str, error: &dyn std::fmt::Display) -> ToolOutcome {
        let error = short(&error.to_string());
        let said = self.say(
            || format!("{tool} was not run, and nothing has happened: {error}"),
            || format!("{tool} 没有执行，未产生任何影响：{error}"),
        );
        ToolOutcome::failure(FailureKind::Failed, said)
    }

    /// Why a person is asked when memory supplied the arguments of an effect and no approver is set (L2).
    pub(crate) fn confirm_filled(self, tool: &str, filled: &str) -> String {
        self.say(
            || {
                format!(
                    "{tool} changes things, and these arguments come from memory: {filled}. Are they right?"
                )
            },
            || format!("{tool} 会产生影响，其中这些参数来自记忆：{filled}。是否正确？"),
        )
    }

    /// What stands between head and tail of an output that was cut (T10).
    pub(crate) fn cut(self, omitted: usize, of: usize, handle: Option<&str>) -> String {
        let whole = self.whole(handle);
        self.say(
            || format!("\n[… {omitted} of {of} characters left out by Hermes; {whole} …]\n"),
            || format!("\n[……Hermes 省略了 {of} 个字符中的 {omitted} 个；{whole}……]\n"),
        )
    }

    /// The line below an output whose fuller form was kept.
    pub(crate) fn kept(self, handle: &str) -> String {
        let whole = self.whole(Some(handle));
        self.say(|| format!("\n[a shortened form; {whole}]"), || format!("\n[以上为精简内容；{whole}]"))
    }

    fn whole(self, handle: Option<&str>) -> String {
        match handle {
            Some(handle) => self.say(
                || format!("the whole is {handle}, to be read with read_artifact"),
                || format!("全文为 {handle}，可用 read_artifact 读取"),
            ),
            None => self.say(|| "the whole was not kept".to_owned(), || "全文未保存".to_owned()),
        }
    }
}

/// Why an outcome is unknown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Unknown {
    TimedOut(Duration),
    Lost(String),
    Cancelled,
    Crashed,
    Panicked,
}

/// Up to three names that were probably meant, closest first.
fn nearest_tools<'a>(name: &str, tools: &[&'a str]) -> Vec<&'a str> {
    let name = hermes_text::truncate_bytes(name, 256);
    // Some models put a namespace before the name: `functions.get_weather`.
    let last = name.rsplit(['.', ':', '/']).next().unwrap_or(name);
    let mut found: Vec<&'a str> = Vec::new();
    while found.len() < 3 {
        let left = || tools.iter().copied().filter(|tool| !found.contains(tool));
        match hermes_text::nearest(name, left()).or_else(|| hermes_text::nearest(last, left())) {
            Some(tool) => found.push(tool),
            None => break,
        }
    }
    found
}

fn short(text: &str) -> String {
    hermes_text::truncate_chars(hermes_text::truncate_bytes(text, NAME * 8), NAME).into_owned()
}

/// A duration as people write it: `300 ms`, `10 s`.
fn in_words(limit: Duration) -> String {
    if limit.subsec_nanos() == 0 {
        format!("{} s", limit.as_secs())
    } else {
        format!("{} ms", limit.as_millis())
    }
}

#[cfg(test)]
mod tests;
