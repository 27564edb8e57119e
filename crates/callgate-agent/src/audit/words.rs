//! Words: which names are those of secrets, and how sure that is.

/// Words that make the value of a name a secret wherever the name is given one. They are compared with whole words of the
/// name: `api_token`, `apiToken` and `API-Token` hold `token`, `tokenizer` does not.
const STRONG: &[&str] = &[
    "token",
    "secret",
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "passwort",
    "passkey",
    "pwd",
    "psw",
    "apikey",
    "authorization",
    "credential",
    "cred",
    "masterauth",
    "requirepass",
    "mnemonic",
    "pgpass",
    "dbpass",
    "userpass",
    "rootpass",
    "adminpass",
    "smtppass",
    "keypass",
    "storepass",
    "passin",
    "passout",
    "fromliteral",
    "securestring",
];
/// Words that do so too, but mean other things in running text: they count where a name is clearly a name.
const WEAK: &[&str] = &[
    "key",
    "auth",
    "cookie",
    "bearer",
    "pin",
    "otp",
    "totp",
    "jwt",
    "pass",
    "pw",
    "csrf",
    "xsrf",
    "sid",
    "sig",
    "signature",
    "pat",
    "cvv",
    "cvc",
    "phpsessid",
    "jsessionid",
    "sessionid",
    "creds",
];
/// With one of these before it, `key` is the key to something; alone and with others it is that of a table or of a piano.
const KEYS_TO: &[&str] = &[
    "api",
    "access",
    "private",
    "secret",
    "auth",
    "signing",
    "sign",
    "encryption",
    "encrypt",
    "decryption",
    "master",
    "session",
    "ssh",
    "account",
    "storage",
    "shared",
    "client",
    "service",
    "deploy",
    "license",
    "consumer",
    "crypto",
    "subscription",
    "hmac",
    "aes",
    "rsa",
    "gpg",
    "pgp",
    "tls",
    "ssl",
    "wallet",
    "admin",
    "root",
    "app",
    "application",
    "server",
    "stripe",
    "openai",
    "anthropic",
    "aws",
    "azure",
    "gcp",
    "google",
    "github",
    "host",
    "symmetric",
    "user",
];
/// Ends of names in one word, such as `dbpassword`.
const ENDS: &[&str] = &["password", "passwd", "passphrase", "token", "secret", "credential", "apikey"];

/// How sure it is that a name is that of a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Strength {
    /// It can mean something else.
    Weak,
    /// It cannot.
    Strong,
}

/// Whether a name is that of a secret; `extra` are words of the user's own. A plural of numbers is a count, so who knows
/// that its value is a number says so.
pub(super) fn strength(name: &str, extra: &[String], is_number: bool) -> Option<Strength> {
    let words = words(name);
    let is_strong = |word: &str| {
        STRONG.contains(&word)
            || ENDS.iter().any(|end| word.ends_with(end))
            || word.strip_suffix("key").is_some_and(|before| KEYS_TO.contains(&before))
            || extra.iter().any(|extra| extra.eq_ignore_ascii_case(word))
    };
    let one = |word: &str| {
        let word = word.trim_end_matches(|c: char| c.is_ascii_digit());
        match word {
            _ if is_strong(word) => Some(Strength::Strong),
            _ if WEAK.contains(&word) => Some(Strength::Weak),
            _ => None,
        }
    };
    let each = words.iter().filter_map(|word| {
        let singular = word.strip_suffix('s').filter(|_| !is_number);
        one(word).max(singular.and_then(one))
    });
    let pairs = words.windows(2).filter_map(|pair| {
        let joined = pair.concat();
        let joined = if is_number { joined.as_str() } else { joined.strip_suffix('s').unwrap_or(&joined) };
        one(joined).filter(|strength| *strength == Strength::Strong || WEAK.contains(&joined))
    });
    each.chain(pairs).max()
}

/// The last word of a name, in lower case.
pub(super) fn last_word(name: &str) -> String {
    words(name).pop().unwrap_or_default()
}

/// The words of a name, in lower case: cut at everything that is no letter or digit, and where a capital begins a word.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut characters = name.chars().peekable();
    let mut before: Option<char> = None;
    while let Some(c) = characters.next() {
        let after_small = before.is_some_and(|before| before.is_lowercase() || before.is_ascii_digit());
        let before_small = before.is_some() && characters.peek().is_some_and(|next| next.is_lowercase());
        if !c.is_alphanumeric() || (c.is_uppercase() && (after_small || before_small)) {
            words.push(String::new());
        }
        if c.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(c.to_lowercase());
        }
        before = Some(c);
    }
    words.retain(|word| !word.is_empty());
    words
}
