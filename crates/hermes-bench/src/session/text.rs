//! The turns that logs are built of: generated, the same in every run, English with some Chinese.

use hermes_core::{
    Body, CallId, CallReport, CallStarted, ContentPart, JsonText, NewMessage, ToolCall, ToolResult,
};

use crate::error::Error;

/// The messages of a turn: what the user says, a step with a call, its journal entry, its result, and the answer.
pub(crate) const MESSAGES_A_TURN: usize = 5;

/// One user message in so many lays something down that stays for good.
const STICKY_EVERY: u64 = 50;

const WORDS: &str = "the of and to a in for is on that by this with you it not or be are from at as your all have new more an was we will can \
    us about if page my has search free but our one other do no information time they site he up may what which their news out use any there see \
    only so his when contact here business who web also now help get view online first been would how were services some these click its like \
    service than find price date back top people had list name just over state year day into email two health world next used go work last most \
    products music buy data make them should product system post her city add policy number such please available copyright support message after \
    best software then good video well where info rights public books high school through each links she review years order very privacy book items \
    company read group need many user said does set under general research university mail full map reviews program life know games way days \
    management part could great united hotel real item international center must store travel comments made development report off member details line";

const SENTENCES: [&str; 8] = [
    "我们下周三去杭州出差，请帮我看看合适的高铁和酒店。",
    "这家餐厅评分很高，步行大约十分钟，晚上需要提前预订。",
    "会议改到周五下午三点，地点在二号楼四层的会议室。",
    "预算已经确认，超出部分需要重新提交审批流程。",
    "数据已经整理完毕，下一步是核对两个系统之间的差异。",
    "天气预报说周末有小雨，建议把户外的活动放在周日上午。",
    "上一次的报告里缺少第三季度的数字，请一并补齐。",
    "这条路线最快，但换乘比较多，带着行李不太方便。",
];

/// A source of turns.
#[derive(Debug)]
pub(crate) struct Turns {
    random: fastrand::Rng,
    words: Vec<&'static str>,
    next: u64,
}

impl Turns {
    pub(crate) fn new() -> Self {
        Self {
            random: fastrand::Rng::with_seed(20_261_201),
            words: WORDS.split_whitespace().collect(),
            next: 0,
        }
    }

    /// The next turn.
    pub(crate) fn turn(&mut self) -> Result<Vec<NewMessage>, Error> {
        let n = self.next;
        let user = self.user();
        let mut turn = vec![NewMessage::user(user)];
        turn.extend(self.step()?);
        let answer = self.prose(240);
        turn.push(NewMessage::assistant(format!("Option {n} fits best. {answer}")));
        Ok(turn)
    }

    /// What the user says next.
    pub(crate) fn user(&mut self) -> String {
        let n = self.next;
        self.next += 1;
        let asked = self.prose(200);
        if n % STICKY_EVERY == 7 {
            format!("I always prefer the early train, rule R{n}.")
        } else {
            format!("Item {n}: {asked}")
        }
    }

    /// A step with one call, its journal entry and its result.
    pub(crate) fn step(&mut self) -> Result<Vec<NewMessage>, Error> {
        let n = self.next;
        let invalid = |error: String| Error::Usage(format!("the generated log is not right: {error}"));
        let call = CallId::new(format!("call_{n:016x}")).map_err(|error| invalid(error.to_string()))?;
        let tool = "search_places".to_owned();
        let arguments = format!(r#"{{"query":"{}","limit":5,"reference":"REF-{n}"}}"#, self.english(60));
        let parsed = JsonText::parse(&arguments).map_err(|error| invalid(error.to_string()))?;
        let result = format!(r#"{{"success":true,"data":{{"id":"P-{n}","text":"{}"}}}}"#, self.prose(560));
        Ok(vec![
            NewMessage::calls(vec![ToolCall::new(call.clone(), tool.as_str(), arguments)]),
            NewMessage::started(CallStarted {
                call: call.clone(),
                tool: tool.clone(),
                arguments: parsed,
                key: None,
                filled: Vec::new(),
                repaired: Vec::new(),
                approval: None,
            }),
            NewMessage::result(ToolResult {
                call,
                tool,
                content: vec![ContentPart::Text(result)],
                failure: None,
                report: CallReport::default(),
            }),
        ])
    }

    /// Text of about so many bytes, one in five Chinese.
    fn prose(&mut self, bytes: usize) -> String {
        if self.random.u8(..5) > 0 {
            return self.english(bytes);
        }
        let mut text = String::new();
        while text.len() < bytes {
            text.push_str(self.random.choice(SENTENCES).unwrap_or_default());
        }
        text
    }

    fn english(&mut self, bytes: usize) -> String {
        let mut text = String::new();
        while text.len() < bytes {
            if !text.is_empty() {
                text.push(' ');
            }
            // Frequent words more often, as in real text.
            let most = self.random.usize(1..=self.words.len());
            let at = self.random.usize(..most);
            text.push_str(self.words.get(at).copied().unwrap_or_default());
        }
        text
    }
}

/// The bytes of what a message says, and of its calls' arguments.
pub(crate) fn text_bytes(message: &NewMessage) -> usize {
    let body: &Body = &message.body;
    let said: usize = body.content().iter().filter_map(ContentPart::as_text).map(str::len).sum();
    said + body.calls().iter().map(|call| call.arguments.len()).sum::<usize>()
}
