//! Looks: secrets that are known by what they look like, whatever stands before them.

/// How values of well-known services start, and how many characters of a token follow at least.
const PREFIXES: &[(&str, usize)] = &[
    ("sk-", 16),
    ("sk_live_", 10),
    ("sk_test_", 10),
    ("rk_live_", 10),
    ("rk_test_", 10),
    ("whsec_", 16),
    ("ghp_", 20),
    ("gho_", 20),
    ("ghs_", 20),
    ("ghu_", 20),
    ("ghr_", 20),
    ("github_pat_", 20),
    ("glpat-", 16),
    ("gldt-", 16),
    ("glrt-", 16),
    ("glptt-", 16),
    ("glsa_", 20),
    ("glc_", 20),
    ("xoxb-", 10),
    ("xoxp-", 10),
    ("xoxa-", 10),
    ("xoxe-", 10),
    ("xoxr-", 10),
    ("xoxs-", 10),
    ("xapp-", 10),
    ("AKIA", 16),
    ("ASIA", 16),
    ("ABSK", 30),
    ("AIza", 30),
    ("GOCSPX-", 16),
    ("ya29.", 20),
    ("1//0", 30),
    ("hf_", 20),
    ("gsk_", 20),
    ("xai-", 20),
    ("pplx-", 20),
    ("r8_", 20),
    ("nvapi-", 20),
    ("tvly-", 16),
    ("npm_", 20),
    ("pypi-", 20),
    ("rubygems_", 20),
    ("oy2", 40),
    ("dop_v1_", 20),
    ("doo_v1_", 20),
    ("dckr_pat_", 16),
    ("eyJ", 20),
    ("SG.", 20),
    ("shpat_", 16),
    ("shpss_", 16),
    ("shpca_", 16),
    ("shppa_", 16),
    ("sq0atp-", 16),
    ("sq0csp-", 16),
    ("lin_api_", 16),
    ("ntn_", 20),
    ("figd_", 16),
    ("PMAK-", 16),
    ("hvs.", 16),
    ("hvb.", 16),
    ("dapi", 32),
    ("tskey-", 16),
    ("CCIPAT_", 16),
    ("NRAK-", 16),
    ("sntrys_", 16),
    ("sbp_", 20),
    ("rzp_live_", 10),
    ("AGE-SECRET-KEY-1", 20),
    ("ATATT3", 20),
    ("ATCTT3", 20),
    ("LTAI", 16),
    ("key-", 32),
    ("phx_", 20),
    ("$1$", 20),
    ("$2a$", 20),
    ("$2b$", 20),
    ("$2y$", 20),
    ("$5$", 20),
    ("$6$", 20),
    ("$y$", 20),
    ("$argon2", 20),
    ("hooks.slack.com/services/", 10),
    ("discord.com/api/webhooks/", 10),
];
/// How blocks of private keys start.
const BLOCKS: &[&str] = &["-----BEGIN ", "---- BEGIN "];
/// The digits of a secret key of AWS.
const AWS: usize = 40;

/// The length of the secret at the start of a text, which is the start of a word too; `beside` says that an id of AWS is
/// near. Each look is bounded, or ends in passing over what was looked at, so that the work stays linear.
pub(super) fn secret_at(text: &str, beside: bool) -> Option<usize> {
    let first = text.as_bytes().first().copied()?;
    for (prefix, least) in PREFIXES.iter().filter(|(prefix, _)| prefix.as_bytes().first() == Some(&first)) {
        if let Some(rest) = text.strip_prefix(prefix)
            && rest.chars().take(*least).filter(|c| is_token(*c)).count() == *least
        {
            return Some(prefix.len() + rest.len() - rest.trim_start_matches(is_token).len());
        }
    }
    private_key(text).or_else(|| aws_secret(text, beside)).or_else(|| bot_token(text))
}

/// A block of a private key, to its end or to that of the text.
pub(super) fn private_key(text: &str) -> Option<usize> {
    let rest = BLOCKS.iter().find_map(|block| text.strip_prefix(block))?;
    let head: String = rest.chars().take(48).collect();
    if !head.contains("PRIVATE KEY") {
        return None;
    }
    let end = ["-----END ", "---- END "].iter().filter_map(|end| text.find(end)).min();
    let Some(end) = end else { return Some(text.len()) };
    // The last line ends with its own dashes.
    let behind = &text[end + 9..];
    let closed =
        behind.find("----").map(|at| at + behind[at..].len() - behind[at..].trim_start_matches('-').len());
    Some(closed.map_or(text.len(), |closed| end + 9 + closed))
}

/// Forty characters of base64 that are no word, path or hash. Beside the id of a key less of a look will do.
fn aws_secret(text: &str, beside: bool) -> Option<usize> {
    let is_digit = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '+');
    let length = text.chars().take(AWS + 1).take_while(|c| is_digit(*c)).count();
    if length != AWS {
        return None;
    }
    let class = |c: char| match c {
        'a'..='z' => 0,
        'A'..='Z' => 1,
        '0'..='9' => 2,
        _ => 3,
    };
    let classes: Vec<u8> = text.chars().take(AWS).map(class).collect();
    let is_mixed = classes.contains(&0) && classes.contains(&1);
    let turns = classes.windows(2).filter(|pair| pair[0] != pair[1]).count();
    (is_mixed && (beside || turns >= 14)).then_some(AWS)
}

/// A token of a chat bot: `123456789:AA…`.
fn bot_token(text: &str) -> Option<usize> {
    let digits = text.chars().take(13).take_while(char::is_ascii_digit).count();
    let rest = text.get(digits..)?.strip_prefix(":AA").filter(|_| (8..=12).contains(&digits))?;
    let length =
        rest.chars().take(64).take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-')).count();
    (length >= 30).then_some(digits + 3 + length)
}

/// `://name:password@` of an address, from its colon on: where the secret begins and ends.
pub(super) fn user_in_address(text: &str) -> Option<(usize, usize)> {
    const FAR: usize = 512;
    let rest = text.strip_prefix("://")?;
    let ends = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '<' | '>' | '`');
    let look = |stop: &dyn Fn(char) -> bool| {
        let found = rest.char_indices().take(FAR).find(|(_, c)| stop(*c));
        found.map_or_else(|| rest.char_indices().nth(FAR).map_or(rest.len(), |(at, _)| at), |(at, _)| at)
    };
    let host = &rest[..look(&|c| ends(c) || matches!(c, '/' | '?' | '#'))];
    if let Some(at) = host.rfind('@') {
        let user = &host[..at];
        return (user.contains(':') || user.len() >= 20).then_some((3, 3 + at));
    }
    if host.starts_with('[') {
        return None;
    }
    // A password that should have been escaped: what stands behind the colon is no port.
    let (_, port) = host.split_once(':').filter(|(_, port)| !port.chars().all(|c| c.is_ascii_digit()))?;
    let whole = &rest[..look(&ends)];
    whole.rfind('@').filter(|_| !port.is_empty()).map(|at| (3, 3 + at))
}

/// What tokens are made of.
pub(super) fn is_token(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '+' | '/' | '=' | '~' | '$')
}
