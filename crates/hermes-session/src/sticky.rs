//! Which messages are never trimmed: what the user said about who they are, what they like, what must not be done and what was
//! agreed (S5).

use std::fmt::Debug;
use std::sync::LazyLock;

use async_trait::async_trait;
use hermes_core::{Body, NewMessage, text_of};
use regex::Regex;

/// Decides on append which of the user's messages are sticky.
///
/// A policy that asks a model has to bound the time that it takes, since an append waits for it, and answers `false` when in doubt.
#[async_trait]
pub trait StickyPolicy: Debug + Send + Sync + 'static {
    /// Whether this message of the user is never trimmed.
    async fn is_sticky(&self, message: &NewMessage) -> bool;
}

/// Marks nothing; messages are sticky by call alone.
#[derive(Debug, Clone, Copy, Default)]
pub struct NeverSticky;

#[async_trait]
impl StickyPolicy for NeverSticky {
    async fn is_sticky(&self, _message: &NewMessage) -> bool {
        false
    }
}

/// The default: rules for English and Chinese that know identity, preference, prohibition and agreement, and that pass over
/// questions, hypotheticals, quotations, what others said, and idioms such as 不要紧 and "never mind".
#[derive(Debug, Clone, Copy, Default)]
pub struct RuleSticky;

#[async_trait]
impl StickyPolicy for RuleSticky {
    async fn is_sticky(&self, message: &NewMessage) -> bool {
        matches!(&message.body, Body::User { content } if Self::holds(&text_of(content)))
    }
}

/// A longer text is a document that was pasted, not something the user laid down. Our choice.
const LONGEST_STATEMENT_CHARS: usize = 2_000;

impl RuleSticky {
    /// Whether a text lays something down that has to stand.
    ///
    /// ```
    /// use hermes_session::RuleSticky;
    /// assert!(RuleSticky::holds("I am allergic to peanuts."));
    /// assert!(RuleSticky::holds("从现在起请用英文回答。"));
    /// assert!(!RuleSticky::holds("不要紧，慢慢来。"));
    /// ```
    #[must_use]
    pub fn holds(text: &str) -> bool {
        if text.chars().nth(LONGEST_STATEMENT_CHARS).is_some() {
            return false;
        }
        let own = RULES.quoted.replace_all(text, " ");
        RULES.sentence.find_iter(&own).any(|sentence| lays_down(sentence.as_str()))
    }
}

fn lays_down(sentence: &str) -> bool {
    let sentence = sentence.trim();
    if RULES.passed_over.iter().any(|rule| rule.is_match(sentence)) {
        return false;
    }
    let plain = RULES.idiom.replace_all(sentence, " ");
    RULES.statement.iter().any(|rule| rule.is_match(&plain))
}

struct Rules {
    quoted: Regex,
    sentence: Regex,
    idiom: Regex,
    passed_over: Vec<Regex>,
    statement: Vec<Regex>,
}

#[expect(clippy::expect_used, reason = "the patterns are constants, and a test compiles them")]
static RULES: LazyLock<Rules> = LazyLock::new(|| {
    let rule = |pattern: &str| Regex::new(pattern).expect("a pattern");
    Rules {
        quoted: rule(QUOTED),
        sentence: rule(SENTENCE),
        idiom: rule(IDIOM),
        passed_over: PASSED_OVER.iter().map(|pattern| rule(pattern)).collect(),
        statement: STATEMENT.iter().map(|pattern| rule(pattern)).collect(),
    }
});

/// Code, quotations of more than a word or two, and quoted lines: somebody else's words.
const QUOTED: &str = r#"(?ms)```.*?(?:```|\z)|`[^`\n]*`|^\s*>.*?$|“[^”]{6,}”|「[^」]{6,}」|『[^』]{6,}』|《[^》]*》|"[^"\n]{12,}""#;

/// A sentence with the mark that ends it.
const SENTENCE: &str = r"(?:[^。！？!?；;\n.]|\.[^\s])+[。！？!?；;.]*";

/// Words that look like prohibitions and are none.
const IDIOM: &str = r"(?ix)
    不要紧|不要脸|要不要|不要(?:担心|着急|客气|介意|怕|误会|急)
    |别(?:担心|着急|急|客气|介意|怕|误会|忘了?|提了|闹|逗|说了|的|人|处|名|墅|致|扭|样|针)
    |[特区性级分告离识个类辨派差送道永]别|不得不|不得了|禁止符
    |never\s*mind|don['’]?t\s+(?:worry|mention\s+it|bother|mind|sweat\s+it|be\s+sorry|know|think|understand|see\s+why|forget)
    |do\s+not\s+(?:worry|mind|know|think|understand|forget)|no\s+worries";

/// Sentences that state nothing of the user's own: questions, hypotheticals, what others say.
const PASSED_OVER: [&str; 5] = [
    r"[?？]\s*$|[吗么呢]\s*[。.]?\s*$|^(?:请问|为什么|为何|怎么|怎样|如何|什么|哪|谁|能不能|可不可以|是不是|有没有|难道)",
    r"(?i)^(?:and |but |so |also |please )*(?:why|what|how|who|whom|where|which|do (?:i|we|you|they)|does|did|is|are|was|were|can|could|should|would|will|shall|may|might|have you|has)\b",
    r"(?:^|[,，、\s])(?:如果|假如|假设|要是|万一|倘若|若是|比如|例如|譬如)",
    r"(?i)\b(?:if (?:i|we|he|she|they|someone|somebody|a user)\b|suppose|supposing|imagine|let's say|hypothetically|for example|e\.g\.)",
    r"(?i)(?:他|她|他们|她们|老板|经理|客户|同事|朋友|医生|老师|妈妈|爸爸|文档|文章|邮件里)(?:昨天|今天|刚才|总|还|就|也)?(?:说|讲|写|提到|告诉)|\b(?:he|she|they|someone|somebody|my (?:boss|friend|manager|doctor|colleague|wife|husband|mother|father)|the (?:customer|client|doctor|manager|article|document|email|manual|docs?)) (?:said|says|told|wrote|writes|asked|claims?|states?)\b",
];

/// What stands: identity, preference, prohibition, agreement; Chinese and English of each.
const STATEMENT: [&str; 8] = [
    r"(?x)我(?:的名字)?叫[^做我你]|我姓|我(?:现在|目前)?(?:住在|来自|就职于|任职于)|我今年?\s*\d+\s*岁|我[^，,。]{0,4}对.{1,20}过敏|我有.{0,12}(?:过敏|糖尿病|高血压|心脏病|哮喘|孩子|女儿|儿子)
        |我是(?:一[个名位]|个|素食|左撇子|[\p{Han}]{0,8}(?:人|者|员|师|生|家|长|主义)(?:[，,。；;！!]|\s*$))
        |我(?:的)?(?:名字|姓名|生日|电话|手机号?|邮箱|地址|公司|职业|年龄|母语|时区|会员卡?号?|血型|老婆|妻子|丈夫|老公|女儿|儿子|先生|太太|男朋友|女朋友)[^，,。]{0,4}(?:是|叫|为|在)
        |我在.{1,16}(?:工作|上班|上学|读书|定居)",
    r"(?ix)\b(?:my\s+name(?:\s+is|'s|’s)|call\s+me\s+\p{Lu}?\w+|i(?:\s+am|'m|’m)\s+(?:an?\s+(?:\w+\s+){0,2}(?:vegetarian|vegan|developer|engineer|doctor|nurse|teacher|student|lawyer|designer|manager|writer|scientist|researcher|beginner|native\s+speaker|diabetic|muslim|jew|christian|pilot|chef|accountant|freelancer)|allergic|vegetarian|vegan|diabetic|lactose|gluten|celiac|pregnant|deaf|blind|colou?r-?blind|left-handed|from\s+\p{L}|based\s+in|living\s+in|\d+\s+years\s+old|married)
        |i\s+(?:live|reside)\s+in|i\s+work\s+(?:at|for|as)\b|i\s+was\s+born\b|i\s+have\s+(?:an?\s+)?(?:\w+\s+){0,2}(?:allergy|allergies|diabetes|asthma|kids|children)
        |my\s+(?:e-?mail|phone(?:\s+number)?|birthday|address|time\s*zone|mother\s+tongue|native\s+language|job|wife|husband|partner|son|daughter|employer|blood\s+type|pronouns)(?:\s+\w+)?\s+(?:is|are)\b)",
    r"(?x)我(?:们)?(?:不|很|最|更|比较|更加|非常|特别|一直|从来|从|还是|平时|一般|通常|都|总是|其实|不太|超|挺|真的){0,3}(?:喜欢|偏好|偏爱|偏向|讨厌|爱吃|爱喝|习惯|宁愿|宁可|倾向|吃素|忌口|受不了)
        |我(?:一般|平时|通常|总是|一直|只|从不|从来不|不)(?:吃|喝|用|坐|住|抽|穿|接受|碰)",
    r"(?ix)\bi\s+(?:(?:really|always|usually|only|generally|much|strongly|also|still|would\s+always|do)\s+)*(?:prefer|hate|dislike|can(?:'|’)?t\s+stand|cannot\s+stand)\b
        |\bi\s+(?:(?:really|absolutely|do|always)\s+)*(?:like|love|enjoy)\s+(?:my\b|[a-z]{4,}\b|to\s)
        |\bi\s+(?:always|never|only)\s+(?:eat|drink|use|fly|take|travel|sit|stay|book|buy|wear|read|write|want|work|order|pay)\b
        |\bi\s+(?:do\s+not|don['’]t|cannot|can['’]t)\s+(?:like|eat|drink|want\s+(?:any|you)|use|fly|smoke|tolerate)\b|\bmy\s+favou?rite\b|\bmy\s+preference\b",
    r"(?x)(?:不要|不准|不许|不可以|不得|禁止|严禁|切勿|请勿|切记不)\s*[\p{Han}A-Za-z]|(?:^|[，,、；;\s请也都千万])别(?:再|给|在|把|用|让|去|动|碰|改|删|发|提|说|写|买|订|做|问|叫|放|加)",
    r"(?ix)(?:^|[,;:—-]\s*|\b(?:please|and|but|so|also|you|then|again)\s+)(?:do\s+not|don['’]t|never|must\s+not|mustn['’]t|may\s+not|shall\s+not|should\s+not|shouldn['’]t)\s+\w
        |\bunder\s+no\s+circumstances\b|\bis\s+(?:strictly\s+)?(?:forbidden|off[-\s]limits|not\s+allowed)\b|(?:^|\bplease\s+)avoid\s+\w|\bno\s+\w+(?:\s+\w+){0,3}\s+(?:without|until|before)\s+(?:my|i|asking)\b",
    r"(?x)从(?:现在|今天|今|此|这次|下次)(?:起|开始|以后|往后)|(?:以后|今后|往后)(?:都|请|就|每|一律|不|只|要|用|别)|每次都|一律|务必|永远(?:用|不|要|请)|始终(?:用|要|请|保持)
        |(?:请|要|帮我|麻烦|你)?(?:记住|记下|记得|牢记|记一下)|(?:我们|咱们)(?:说好|约好|约定|商定|定好)|说好了|一言为定|约定[：:是]",
    r"(?ix)\bfrom\s+(?:now|here|today)\s+on\b|\b(?:going|moving)\s+forward\b|\bhenceforth\b|(?:^|[,;:]\s*|\b(?:please|and|but|you\s+(?:must|should))\s+)always\s+\w|(?:^|\b(?:please|and|must)\s+)(?:remember|keep\s+in\s+mind|bear\s+in\s+mind|note)\b(?:\s+that|\s*:|,|\s+\w)
        |\b(?:as|we|we've|we’ve|we\s+have)\s+agreed\b|\blet(?:'|’)?s\s+agree\b|\bin\s+(?:the\s+)?future,?\s+\w|\bevery\s+time\s+you\b|\bfor\s+the\s+rest\s+of\s+(?:this|the|our)\b",
];

#[cfg(test)]
mod tests {
    use super::RuleSticky;

    fn check(sticky: bool, texts: &[&str]) {
        let wrong: Vec<_> = texts.iter().filter(|text| RuleSticky::holds(text) != sticky).collect();
        assert!(wrong.is_empty(), "should {}be sticky: {wrong:#?}", if sticky { "" } else { "not " });
    }

    #[test]
    fn what_the_user_lays_down_is_sticky() {
        check(
            true,
            &[
                "在我确认之前不要给客户发邮件，也不要 push 到 main。",
                "My name is Dana Liu and I am allergic to peanuts.",
                "从现在起请用英文回答。",
                "我叫李雷，今年 34 岁。",
                "我对海鲜过敏",
                "我是素食主义者。",
                "我住在杭州西湖区",
                "我的生日是3月5日。",
                "我比较喜欢靠窗的座位",
                "我不吃香菜。",
                "我一般坐高铁",
                "千万不要订九点以前的票，规则GVGW。",
                "请别再给我打电话",
                "禁止修改生产数据库。",
                "以后都用摄氏度",
                "会员卡号6SJJEN47P，麻烦记一下。",
                "请记住，合同编号是 HT-2024-88。",
                "I always prefer trains over planes (RM6).",
                "I hate aisle seats.",
                "My favourite colour is green",
                "I don't eat pork.",
                "I'm a vegetarian, by the way.",
                "I live in Lyon and I work as a nurse.",
                "Please don't touch the config file.",
                "Never deploy on Fridays!",
                "Do not email the client until I confirm.",
                "From now on, answer in French.",
                "Always use metric units.",
                "Please remember that the budget is fixed.",
                "We agreed: no changes to the public API.",
                "Fix the tests, and never push to main.",
            ],
        );
    }

    #[test]
    fn questions_hypotheticals_quotations_and_idioms_are_not() {
        check(
            false,
            &[
                "",
                "不要紧，慢慢来。",
                "第3步进展如何？",
                "要不要我再试一次",
                "别担心，时间够。",
                "特别好，谢谢。",
                "别的方案有没有",
                "我喜欢什么颜色你还记得吗？",
                "如果我对花生过敏，应该注意什么。",
                "假如我叫张三，你会怎么称呼我",
                "他说不要给客户发邮件。",
                "帮我翻译“请不要在这里吸烟，谢谢合作”",
                "不得不说，这个结果很好。",
                "今天天气不错",
                "帮我订明天的票",
                "Never mind, it works now.",
                "Don't worry about it.",
                "I don't know.",
                "I don't think so.",
                "Do you prefer tea or coffee?",
                "What if I am allergic to peanuts?",
                "If I were a vegetarian, what would I eat here?",
                "My boss said never deploy on Fridays.",
                "Translate \"please do not smoke in the building\" to German",
                "> Never do this\nWhat does the line above mean?",
                "```\n// do not edit\n```\nexplain this",
                "I would like to book a table.",
                "Yes, I like it.",
                "Why should we never push to main?",
                "How is step 3 going?",
                "Thanks!",
            ],
        );
    }

    #[test]
    fn a_pasted_document_is_not_a_statement() {
        assert!(!RuleSticky::holds(&"Do not feed the animals. ".repeat(200)));
    }
}
