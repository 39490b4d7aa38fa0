//! The protocol over Streamable HTTP (M3).

use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::common::client_side_sse::ExponentialBackoff;
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, StreamableHttpClientTransportConfig, StreamableHttpError,
};
use secrecy::ExposeSecret as _;

use super::server::{Http, Settings};
use super::stdio::MAX_MESSAGE;
use crate::error::Error;

/// How often a broken event stream is taken up again, and how long the pauses are: under two seconds in all, since after that
/// the server is taken for gone and the whole connection is made anew.
const RESUMES: usize = 3;
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// How many redirects are followed.
const REDIRECTS: usize = 5;

pub(crate) type HttpTransport = StreamableHttpClientTransport<reqwest::Client>;
pub(crate) type HttpError = StreamableHttpError<reqwest::Error>;

pub(crate) fn transport(prefix: &str, http: &Http, settings: &Settings) -> Result<HttpTransport, Error> {
    let wrong = |message: String| Error::Settings { server: prefix.to_owned(), message };
    let url =
        reqwest::Url::parse(&http.url).map_err(|error| wrong(format!("its address is no URL: {error}")))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(wrong("its address has to begin with http:// or https://".to_owned()));
    }
    let secret = http.bearer.is_some() || !http.headers.is_empty();
    if secret && url.scheme() == "http" && !is_local(&url) {
        tracing::warn!(server = prefix, "credentials go over plain HTTP; use https");
    }
    let client = client(&headers(http).map_err(wrong)?, settings)
        .map_err(|error| wrong(format!("no HTTP client can be made for it: {error}")))?;
    let mut config = StreamableHttpClientTransportConfig::with_uri(http.url.as_str())
        .max_sse_event_size(MAX_MESSAGE)
        .max_json_response_size(MAX_MESSAGE)
        .reinit_on_expired_session(true);
    let mut resumes = ExponentialBackoff::default();
    resumes.max_times = Some(RESUMES);
    resumes.base_duration = FIRST_PAUSE;
    resumes.max_delay = Some(LONGEST_PAUSE);
    config.retry_config = Arc::new(resumes);
    Ok(StreamableHttpClientTransport::with_client(client, config))
}

fn headers(http: &Http) -> Result<HeaderMap, String> {
    let mut map = HeaderMap::new();
    for (name, value) in &http.headers {
        let name =
            HeaderName::from_bytes(name.as_bytes()).map_err(|_bad| format!("{name:?} is no header name"))?;
        let value = sensitive(value.expose_secret())
            .ok_or_else(|| format!("the value of the header {name} cannot be sent"))?;
        map.insert(name, value);
    }
    if let Some(token) = &http.bearer {
        let value = sensitive(&format!("Bearer {}", token.expose_secret()))
            .ok_or_else(|| "its bearer token cannot be sent in a header".to_owned())?;
        map.insert(AUTHORIZATION, value);
    }
    Ok(map)
}

fn sensitive(value: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(value).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// No limit on a whole request: an event stream may stay open for as long as the server likes. Calls have their own limits.
fn client(headers: &HeaderMap, settings: &Settings) -> Result<reqwest::Client, reqwest::Error> {
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        // Whoever else installs one at the same time wins, and that one serves as well.
        let _ = rustls::crypto::ring::default_provider().install_default();
    }
    // Headers may be credentials, which must not follow a redirect to another place.
    let redirects = reqwest::redirect::Policy::custom(|attempt| {
        let here = attempt.previous().first().is_some_and(|first| first.origin() == attempt.url().origin());
        if here && attempt.previous().len() <= REDIRECTS { attempt.follow() } else { attempt.stop() }
    });
    reqwest::Client::builder()
        .user_agent(concat!("hermes/", env!("CARGO_PKG_VERSION")))
        .default_headers(headers.clone())
        .connect_timeout(settings.connect_timeout.min(Duration::from_secs(10)))
        .redirect(redirects)
        .build()
}

fn is_local(url: &reqwest::Url) -> bool {
    url.host_str().is_some_and(|host| {
        host == "localhost"
            || host
                .trim_matches(['[', ']'])
                .parse::<std::net::IpAddr>()
                .is_ok_and(|address| address.is_loopback())
    })
}

/// What an error of the transport means for the request that met it.
pub(crate) enum Meaning {
    /// It never arrived, or was turned away before it ran.
    NotRun { message: String, retry_after: Option<Duration> },
    /// It was turned away for good.
    Refused(String),
    /// The credentials were refused.
    Unauthorized(String),
    /// It may have run.
    Unknown(String),
}

pub(crate) fn meaning(error: &(dyn std::error::Error + 'static)) -> Meaning {
    let Some(error) = error.downcast_ref::<HttpError>() else {
        return Meaning::Unknown("the connection failed".to_owned());
    };
    match error {
        StreamableHttpError::AuthRequired(AuthRequiredError { .. }) => Meaning::Unauthorized(
            "it answered with 401, so a bearer token or another header is needed".to_owned(),
        ),
        StreamableHttpError::InsufficientScope(_) => {
            Meaning::Unauthorized("it answered with 403: the token does not allow this".to_owned())
        }
        StreamableHttpError::Client(error) if error.is_connect() => {
            Meaning::NotRun { message: "nobody answers at its address".to_owned(), retry_after: None }
        }
        StreamableHttpError::Client(error) => status(error.status().map(|status| status.as_u16()), None),
        StreamableHttpError::HttpStatus(error) => {
            // A date is not honoured: the caller's own pause is.
            let seconds = error.retry_after.as_deref().and_then(|text| text.trim().parse().ok());
            status(Some(error.status), seconds.map(Duration::from_secs))
        }
        StreamableHttpError::UnexpectedServerResponse(_) | StreamableHttpError::UnexpectedContentType(_) => {
            Meaning::Refused("its answer is none of the protocol's".to_owned())
        }
        StreamableHttpError::ResponseBodyTooLarge { max_size } => {
            Meaning::Unknown(format!("its answer is longer than {max_size} bytes"))
        }
        StreamableHttpError::SessionExpired => {
            Meaning::NotRun { message: "its session has expired".to_owned(), retry_after: None }
        }
        _ => Meaning::Unknown("the connection failed".to_owned()),
    }
}

fn status(status: Option<u16>, retry_after: Option<Duration>) -> Meaning {
    match status {
        Some(code @ (429 | 503)) => {
            Meaning::NotRun { message: format!("it answered with HTTP status {code}"), retry_after }
        }
        Some(code @ (401 | 403)) => Meaning::Unauthorized(format!("it answered with HTTP status {code}")),
        Some(code @ 400..=499) => Meaning::Refused(format!("it answered with HTTP status {code}")),
        Some(code) => Meaning::Unknown(format!("it answered with HTTP status {code}")),
        None => Meaning::Unknown("the connection broke off".to_owned()),
    }
}
