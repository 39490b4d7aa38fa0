use proptest::prelude::*;

use super::{SecretKind, contains_secret, mask_secrets, secrets};

/// What is secret stands in `«…»`; everything around it must stay. Keys are put together here so that no scanner
/// takes this file for a leak.
fn check(kind: SecretKind, marked: &str) {
    let text = marked.replace(['«', '»'], "").replace('~', "");
    let start = marked.find('«').unwrap();
    let expected = format!(
        "{}[masked {kind}]{}",
        marked[..start].replace('~', ""),
        &marked[marked.find('»').unwrap() + '»'.len_utf8()..]
    );
    assert_eq!(mask_secrets(&text), expected);
    assert_eq!(contains_secret(&text), Some(kind), "{text}");
    assert_eq!(mask_secrets(&expected), expected, "masking again");
}

#[test]
fn keys_are_known_by_their_shape() {
    use SecretKind::{ApiKey, BearerToken, Jwt, PrivateKey};
    for (kind, marked) in [
        (ApiKey, "use «sk~-proj-Ab12Cd34Ef56Gh78Ij90» please"),
        (ApiKey, "我的密钥是«sk~-ant-api03-Ab12Cd34Ef56Gh78»。"),
        (ApiKey, "«sk~-1234567890abcdef1234567890abcdef»"),
        (ApiKey, "stripe «sk~_live_4eC39HqLyjWDarjtT1zdp7dc»"),
        (ApiKey, "token («gh~p_16C7e42F292c6912E7710c838347Ae178B4a»)"),
        (ApiKey, "«github~_pat_11ABCDEFG0123456789_abcdefgh»"),
        (ApiKey, "aws «AK~IAIOSFODNN7EXAMPLE», region eu-west-1"),
        (ApiKey, "slack «xo~xb-17653672481-19874698323-pdFZKVeTuE8sk7oOcHrzqqgy»"),
        (ApiKey, "maps «AI~zaSyD-9tSrke72PouQMnMX-a7eZSW0jkFMBWY»"),
        (ApiKey, "«h~f_AbCdEfGhIjKlMnOpQrStUvWxYz012345678»"),
        (ApiKey, "bot «123456789:~AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw1»"),
        (BearerToken, "curl -H 'Authorization: Bearer «mF_9.B5f-4.1JqM-abc»'"),
        (BearerToken, "Authorization: Basic «QWxhZGRpbjpvcGVuIHNlc2FtZQ==»"),
        (
            Jwt,
            "cookie «eyJhbGciOiJIUzI1NiJ9.~eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P» ok",
        ),
        (
            PrivateKey,
            "key:\n«-----BEGIN RSA ~PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\n-----END RSA PRIVATE KEY-----»\n",
        ),
        (PrivateKey, "cut off «-----BEGIN ~PRIVATE KEY-----\nMIIEvQ»"),
        (ApiKey, "API_KEY=«d41d8cd98f00b204»"),
        (ApiKey, r#"{"accessToken": "«9f86d081-884c-7d65»", "n": 1}"#),
        (ApiKey, "my api key is «abcd1234efgh5678»"),
    ] {
        check(kind, marked);
    }
}

#[test]
fn passwords_are_known_by_what_announces_them() {
    for marked in [
        "My password is «Tr0ub4dor&3».",
        "my password is «sunshine»",
        "the wifi password: «correct-horse»",
        "Password for the server is «hunter2», keep it",
        "I changed my password to «N3wSecret!»",
        "DB_PASSWORD=«s3cr3t»",
        r#"{"password": "«open sesame»"}"#,
        "passwd: «letmein»",
        "my PIN is «4821»",
        "PIN code: «0000»",
        "the pin for my card is «4821», ok?",
        "密码是«abc123»",
        "我的密码是 «hunter22»，别告诉别人",
        "支付密码：«839201»",
        "WiFi密码«qwe123!@#»",
        "密码改成«Abc@2024»了",
        "验证码 «573920»，五分钟内有效",
        "登录密码为「«p@ssw0rd»」",
        "postgres://hermes:«s3cr3t»@db.example.com/app",
    ] {
        check(SecretKind::Password, marked);
    }
}

#[test]
fn cards_are_known_by_their_check_digit() {
    for marked in [
        "«4111111111111111»",
        "card «4111 1111 1111 1111», exp 12/27",
        "卡号«6222020200112233445»", // replaced below by a number with a right check digit
        "«5555-5555-5555-4444»",
        "amex «3782 822463 10005»",
        "«378282246310005»",
        "visa «4222222222222»",
        "付款用2张卡，其中 «4111 1111 1111 1111»",
    ] {
        let marked = marked.replace("6222020200112233445", &with_check_digit("622202020011223344"));
        check(SecretKind::CardNumber, &marked);
    }
    // Two cards in one text.
    assert_eq!(secrets("4111111111111111 / 5555555555554444").len(), 2);
}

/// Appends the check digit by the definition of ISO/IEC 7812: double every other digit from the right, sum up to a multiple of ten.
fn with_check_digit(payload: &str) -> String {
    let sum: u32 = payload
        .chars()
        .rev()
        .enumerate()
        .map(|(place, digit)| {
            let digit = digit.to_digit(10).unwrap() * if place % 2 == 0 { 2 } else { 1 };
            digit / 10 + digit % 10
        })
        .sum();
    format!("{payload}{}", (10 - sum % 10) % 10)
}

#[test]
fn ordinary_text_stays() {
    for text in [
        "Order M-23891 of 2025-03-14, tracking 1Z999AA10123456784",
        "order number 4111111111111111",
        "订单号 4111111111111111 已发货",
        "call +86 138 0013 8000 or (555) 010-9999 or 4155550132",
        "550e8400-e29b-41d4-a716-446655440000",
        "commit 5f4dcc3b5aa765d61d8327deb882cf99",
        "timestamp 1700000000000, ns 1700000000000000000",
        "4111 1111 1111 1112 fails its check digit",
        "4111111111111111.25 EUR and x4111111111111111",
        "1234567890123456",
        "0000000000000000",
        "The password is wrong. Your password is required, and the password must be 8 characters.",
        "password: string, passwd: &str, pwd=$PWD, PASSWORD=${DB_PASSWORD}, password = get_password()",
        "Password: ********",
        "the password is correct and accepted",
        "use the password to log in",
        "my PIN is not working; pin it to the board; pinned 2024",
        "密码是什么？密码错误，请重置密码。密码至少8位，密码不能为空",
        "密码123位",
        "银行卡密码忘了怎么办",
        "max_tokens=4096, tokens: 512, \"token_count\": 1200, next token is important",
        "token: String, secret: Option<String>, api_key = os.environ['OPENAI_API_KEY']",
        "sk-learn-compatible-estimators and task-1234567890123456",
        "the bearer of good news; bearer authentication-scheme",
        "eyJust.a.joke",
        "https://example.com:8080/a@b, user@example.com, ftp://host/x",
        "ISBN 978-3-16-148410-0, IBAN DE89 3704 0044 0532 0130 00",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
        "身份证 11010519491231002X，电话 13800138000",
        "Bitcoin 3.14159265358979323846",
        "",
    ] {
        assert_eq!(mask_secrets(text), text);
        assert_eq!(contains_secret(text), None, "{text}");
    }
}

#[test]
fn hostile_input_takes_no_quadratic_time() {
    // Each of these is handled in a moment, or the test does not end.
    for piece in [
        "password ",
        "password for a ",
        "a://a:",
        "1 ",
        "eyJ",
        "-----BEGIN PRIVATE KEY-----",
        "a.",
        "密码",
        "4111 1111 ",
    ] {
        let text = piece.repeat(100_000 / piece.len());
        let masked = mask_secrets(&text);
        assert!(masked.len() <= 4 * text.len());
    }
}

proptest! {
    #[test]
    fn masking_a_masked_text_changes_nothing(
        parts in prop::collection::vec(
            "password|密码|is|是|=|: |my PIN is |[a-zA-Z0-9!@#]{1,20}|4111 1111 1111 1111|sk-[a-z0-9]{20}|[ \"\\[\\]]|Bearer |://|@|token|\\PC",
            0..14,
        ),
    ) {
        let text = parts.concat();
        let once = mask_secrets(&text).into_owned();
        prop_assert_eq!(mask_secrets(&once), once.as_str());
    }

    #[test]
    fn digits_alone_are_only_ever_cards(text in "[0-9]{1,30}") {
        prop_assert!(matches!(contains_secret(&text), None | Some(SecretKind::CardNumber)));
    }
}
