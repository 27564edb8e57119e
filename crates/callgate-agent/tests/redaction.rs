//! What a record keeps of everything, and still not of secrets: every form of giving a value to a name, every name, every
//! look of a value, in every nesting; and ordinary values stay.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on says so by panicking")]

use callgate_agent::audit::{REDACTED, Redaction, Style};
use serde_json::{Value, json};

fn full() -> Redaction {
    Redaction { style: Style::Full, words: Vec::new() }
}

/// Names of secrets that mean nothing else.
const STRONG: &[&str] = &[
    "password",
    "Password",
    "DB_PASSWORD",
    "dbPassword",
    "db-password",
    "dbpassword",
    "apiKey",
    "api_key",
    "API-KEY",
    "X-Api-Key",
    "client_secret",
    "clientSecret",
    "access_token",
    "authToken",
    "privateKey",
    "private-key",
    "PRIVATE_KEY",
    "AWS_SECRET_ACCESS_KEY",
    "passphrase",
    "user_passwd",
    "credentials",
    "secrets",
    "signing_key",
    "encryptionKey",
    "MYSQL_PWD",
    "refresh_tokens",
    "SecretAccessKey",
    "password2",
    "session_token",
];
/// Names that can mean something else, and do not where names stand.
const WEAK: &[&str] = &["key", "auth", "pin", "otp", "jwt", "cookie", "pass", "AUTH", "KEY"];

/// Values of one word that no form has to quote.
const WORDS: &[&str] = &[
    "hunter2xyz",
    "Zm9vYmFyQmF6Cg==",
    "0123456789abcdef0123456789abcdef",
    "b3ta-G4mma_d3lta",
    "98765432",
    "p@ssw0rd!",
    "zu.lang.er",
];
/// Values that end with their line.
const LINES: &[&str] = &["correct horse battery staple", "a1b2&c3d4,e5f6;g7h8", "trail$ing (brack)ets"];
/// Values that need quotes.
const QUOTED: &[&str] =
    &["mit, semikolon; und: zeichen=dort", "erste zeile\nzweite zeile", "tab\tstopp {klammer} [liste]"];

/// Forms that give a value of one word to a strong name.
const WORD_FORMS: &[&str] = &[
    "run --§ ¤ now",
    "run --§=¤ now",
    "tool --§ ¤",
    "see §=¤ in the text",
    "f(§=¤)",
    "f(a, §=¤, b=1)",
    "{§: ¤, n: 1}",
    "https://h.example/p?§=¤",
    "https://h.example/p?a=1&§=¤&b=2",
    "Server=h;§=¤;User=u",
    "set § ¤",
    "setx § ¤",
    "ENV § ¤",
    "the §: ¤ works",
    "| § | ¤ |",
    "| `§` | `¤` |",
    "a §=¤ b=c",
    "<a §=\"¤\" b=\"c\"/>",
    "curl -d §=¤ https://h.example",
    "curl -d 'a=1&§=¤' https://h.example",
    "docker run -e §=¤ image",
    "aws configure set § ¤",
    "kubectl create secret generic n --from-literal=§=¤",
    "§:¤",
    "§ => ¤",
    "log: §=¤, n=1",
    "curl -H \"§: ¤\" https://h.example",
];
/// Forms that give the rest of a line to a name, whatever its strength.
const LINE_FORMS: &[&str] = &[
    "§: ¤",
    "§=¤",
    "§ = ¤",
    "export §=¤",
    "first\n§: ¤\nlast: x",
    "first\n§=¤\nlast=x",
    "a:\n  §: ¤\n  b: c",
    "- §: ¤",
    "- a: b\n  §: ¤",
    "[part]\n§ = ¤\nother = x",
    "# note\n§: ¤",
    "  §: ¤",
    "§: |\n  ¤\nlast: x",
    "§: >-\n  ¤\n",
    "§:\n  - ¤\n  - ¤\nlast: x",
    "§:\n- ¤\nlast: x",
    "§:\n  inner: ¤\n",
    "a.b.§: ¤",
    "a.b.§=¤",
];
/// Forms that quote any value, whatever the strength of the name. `¤` is written as JSON writes it, without its quotes.
const QUOTED_FORMS: &[&str] = &[
    "{\"§\": \"¤\"}",
    "{\"§\":\"¤\",\"n\":1}",
    "see {\"§\": \"¤\"} there",
    "{\"n\": 1, \"§\": [\"¤\", \"¤\"], \"m\": 2} there",
    "see {\"§\": {\"x\": {\"y\": \"¤\"}}}",
    "§ = \"¤\"",
    "§: \"¤\"",
    "§=\"¤\"",
    "export §=\"¤\"",
    "§ = \"\"\"¤\"\"\"",
    "{\"name\": \"§\", \"value\": \"¤\"}",
    "{\"value\": \"¤\", \"name\": \"§\"}",
    "see {\"name\": \"§\", \"value\": \"¤\"} there",
    "see {\"value\": \"¤\", \"name\": \"§\"} there",
    "[{\"key\": \"§\", \"value\": \"¤\"}]",
    "{'§': \"¤\"}",
    "os.environ[\"§\"] = \"¤\"",
    "$env:§ = \"¤\"",
    "process.env.§ = \"¤\"",
    "{\"a\": {\"b\": {\"§\": \"¤\"}}} and",
    "const § = \"¤\";",
    "let § = \"¤\";",
    "\"§\" => \"¤\"",
    "{§: \"¤\"}",
    "<add key=\"§\" value=\"¤\"/>",
    "<input name=\"§\" type=\"x\" value=\"¤\">",
    "- name: §\n  value: \"¤\"",
    "ParameterKey=§,ParameterValue=\"¤\"",
];
/// Forms that quote any value, for strong names.
const STRONG_QUOTED_FORMS: &[&str] = &[
    "[\"§\", \"¤\"]",
    "see [\"§\", \"¤\"] there",
    "[\"tool\", \"--§\", \"¤\"]",
    "run --§ \"¤\" now",
    "setenv(\"§\", \"¤\")",
    "set_§(\"¤\")",
    "def f(§=\"¤\"): pass",
    "def f(§: str = \"¤\"): pass",
    "the § is \"¤\"",
    "ALTER USER x WITH § \"¤\"",
];
/// Forms without a name of the list.
const SPECIAL: &[&str] = &[
    "Cookie: sid=¤; theme=¤",
    "Set-Cookie: sid=¤; Path=/",
    "curl -H 'Cookie: sid=¤; b=¤' https://h.example",
    "GET / HTTP/1.1\nHost: h\nCookie: a=¤; b=¤\nAccept: x",
    "curl -b 'sid=¤' https://h.example",
    "curl --cookie 'sid=¤' https://h.example",
    "Authorization: Bearer ¤",
    "Authorization: Basic ¤",
    "authorization: Token ¤",
    "Authorization: ¤",
    "Proxy-Authorization: Basic ¤",
    "Authorization: Digest username=\"u\", response=\"¤\"",
    "Authorization: AWS4-HMAC-SHA256 Credential=¤, Signature=¤",
    "curl -H 'Authorization: Bearer ¤' https://h.example",
    "curl -H \"Authorization: Bearer ¤\" https://h.example",
    "{\"headers\": {\"Authorization\": \"Bearer ¤\"}} there",
    "curl -u user:¤ https://h.example",
    "curl -s -u 'user:¤' https://h.example",
    "curl -su user:¤ https://h.example",
    "curl -uuser:¤ https://h.example",
    "curl https://h.example/a?b=1&c=2 -u user:¤",
    "curl -H 'A: b; c' -u user:¤ x",
    "curl \\\n  -u user:¤ \\\n  https://h.example",
    "curl --user user:¤ https://h.example",
    "/usr/bin/curl -u user:¤ x",
    "curl --proxy-user user:¤ x",
    "[\"curl\", \"-u\", \"user:¤\"]",
    "see [\"curl\", \"-u\", \"user:¤\"] there",
    "mysql -u root -p¤ db",
    "mysqldump -p¤ db",
    "sshpass -p ¤ ssh h",
    "sshpass -p '¤' ssh h",
    "redis-cli -h h -a ¤ ping",
    "docker login -u me -p ¤",
    "ldapsearch -D cn=x -w ¤",
    "sqlcmd -S h -P ¤",
    "unzip -P ¤ a.zip",
    "7z x -p¤ a.7z",
    "http -a user:¤ h.example",
    "mongosh -u me -p ¤",
    "wget --user me --password ¤ https://h.example",
    "wget --http-password=¤ https://h.example",
    "gpg --passphrase ¤ -c f",
    "openssl rsa -in k -passin pass:¤",
    "machine h.example login me password ¤",
    "machine h.example\n  login me\n  password ¤\n",
    "machine h.example login me password ¤\nmachine i.example login you password ¤",
    "default login me password ¤",
    "ftp: login me password ¤",
    "https://user:¤@h.example/p",
    "postgres://me:¤@db/x",
    "git clone https://me:¤@h.example/r.git",
    "redis://:¤@h:6379/0",
    "amqp://u:¤@h//v",
    "IDENTIFIED BY '¤'",
    "CREATE USER x IDENTIFIED BY '¤';",
    "ALTER ROLE x PASSWORD '¤'",
    "PGPASSWORD=¤ psql -h h",
    "MYSQL_PWD=¤ mysql db",
    "[credentials]\nfoo = ¤\nbar = ¤\n",
    "[secrets]\nany = \"¤\"\n",
    "requirepass ¤",
    "<password>¤</password>",
    "<db:Password type=\"x\">¤</db:Password>",
    "the password is ¤",
    "export GITHUB_TOKEN=¤; run",
    "//registry/:_authToken=¤",
    "npm config set //r/:_authToken ¤",
    "AccountName=x;AccountKey=¤;Suffix=y",
    "x-amz-security-token: ¤",
    "?X-Amz-Signature=¤&x=1&sig=¤",
    "-----BEGIN RSA PRIVATE KEY-----\n¤\n¤\n-----END RSA PRIVATE KEY-----",
    "-----BEGIN OPENSSH PRIVATE KEY-----\n¤",
    "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n¤\n-----END PGP PRIVATE KEY BLOCK-----",
    "KEY=-----BEGIN EC PRIVATE KEY-----\n¤\n-----END EC PRIVATE KEY-----\n",
];
/// More of them, as people and programs write them.
const FOUND: &[&str] = &[
    "Authorization=Basic ¤",
    "(\"Authorization\", \"Bearer ¤\")",
    "-H Authorization:¤",
    "X-Auth-Token: ¤",
    "Data Source=h;User Id=u;Password=¤;",
    "jdbc:mysql://h/db?user=u&password=¤",
    "mongodb+srv://u:¤@h/x",
    "AWS_SECRET_ACCESS_KEY=¤ aws s3 ls",
    "az storage blob list --account-key ¤",
    "az storage blob list --sas-token ¤",
    "kubectl --token=¤ get pods",
    "vault login token=¤",
    "twine upload -u u -p ¤ dist/*",
    "terraform apply -var 'db_password=¤'",
    "terraform apply -var db_password=¤",
    "helm install x --set db.password=¤",
    "docker build --build-arg TOKEN=¤ .",
    "//registry.npmjs.org/:_password=¤",
    "{\"auths\":{\"h\":{\"auth\":\"¤\"}}}",
    "define('DB_PASSWORD', '¤');",
    "'password' => '¤',",
    "$password = '¤';",
    "user.setPassword(\"¤\");",
    "password='¤'",
    "Password: \"¤\",",
    ":password => \"¤\"",
    "apiKey: '¤',",
    "var Password = \"¤\";",
    "PASSWORD='¤'",
    "PASS=¤",
    "Connect-X -User u -Password ¤",
    "ConvertTo-SecureString \"¤\" -AsPlainText",
    "SET PASSWORD = '¤'",
    "SET PASSWORD FOR x = PASSWORD('¤')",
    "CREATE USER x WITH PASSWORD '¤'",
    "GRANT ALL ON x TO y IDENTIFIED BY \"¤\"",
    "<Password><![CDATA[¤]]></Password>",
    "<property name=\"password\" value=\"¤\"/>",
    "<property name=\"password\"><value>¤</value></property>",
    "<entry key=\"password\">¤</entry>",
    "<param name=\"token\">¤</param>",
    "Content-Disposition: form-data; name=\"password\"\r\n\r\n¤\r\n--x",
    "password=¤&user=u",
    "userPassword: ¤",
    "userPassword:: ¤",
    "sshpass -p¤ ssh h",
    "Your password: ¤",
    "Password - ¤",
    "password -> ¤",
    "password → ¤",
    "pw: ¤",
    "OTP is ¤",
    "otpauth://totp/x?secret=¤&issuer=y",
    "Passwort: ¤",
    "**Password:** ¤",
    "**Password**: ¤",
    "`password`: `¤`",
    "- **API key**: ¤",
    "API key: ¤",
    "api key = ¤",
    "The API key is ¤.",
    "access key: ¤",
    "Access Token: ¤",
    "Client Secret: ¤",
    "secret key: ¤",
    "Password：¤",
    "<td>Password</td><td>¤</td>",
    "spring.datasource.password=¤",
    "password: !vault |\n  ¤\n",
    "password: &p ¤",
    "data:\n  password: ¤\n",
    "services:\n  db:\n    environment:\n      - DB_PASSWORD=¤\n",
    "services:\n  db:\n    environment:\n      DB_PASSWORD: ¤\n",
    "Environment=\"DB_PASSWORD=¤\"",
    "Authorization: GoogleLogin auth=¤",
    "{\"Authorization\": [\"Bearer ¤\"]}",
    "headers={'Authorization': f'Bearer ¤'}",
    "headers = {\"X-API-Key\": \"¤\"}",
    "requests.get(u, auth=(\"me\", \"¤\"))",
    "requests.get(u, auth=HTTPBasicAuth(\"me\", \"¤\"))",
    "psql \"host=h user=u password=¤\"",
    "psql \"host=h password='¤ x' user=u\"",
    "smbclient //h/s -U u%¤",
    "mount -o username=u,password=¤ //h/s /m",
    "curl --data '{\"password\":\"¤\"}' h",
    "curl -d \"{\\\"password\\\": \\\"¤\\\"}\" h",
    "curl -X POST -F password=¤ h",
    "curl -H \"Cookie: session=¤\" h",
    "curl --header \"Authorization: token ¤\" h",
    "curl -x http://u:¤@proxy:80 h",
    "curl \"https://h/?api_key=¤\"",
    "wget --header=\"X-Token: ¤\" h",
    "git remote add o https://u:¤@h/r",
    "git -c http.extraheader=\"AUTHORIZATION: basic ¤\" fetch",
    "export API_KEY=\"¤\"",
    "export API_KEY='¤'",
    "API_KEY=\"¤\" ./run",
    "env API_KEY=¤ ./run",
    "set -x API_KEY ¤",
    "setx API_KEY \"¤\"",
    "$Env:API_KEY=\"¤\"",
    "[Environment]::SetEnvironmentVariable(\"API_KEY\", \"¤\")",
    "os.environ.setdefault(\"API_KEY\", \"¤\")",
    "process.env[\"API_KEY\"]=\"¤\"",
    "System.setProperty(\"api.key\", \"¤\")",
    "\"api.key\": \"¤\"",
    "{\"secret\": true, \"password\": \"¤\"}",
    "{\"credentials\": {\"username\": \"u\", \"pw\": \"¤\"}}",
    "credentials:\n  username: u\n  value: ¤\n",
    "private_key: |\n  ¤\n  ¤\nnext: x",
    "\"private_key\": \"-----BEGIN PRIVATE KEY-----\n¤\n-----END PRIVATE KEY-----\n\"",
    "SECRET_KEY_BASE=¤",
    "SECRET_KEY = 'django-insecure-¤'",
    "DATABASE_URL=postgres://u:¤@h/db",
    "REDIS_URL=redis://:¤@h:6379",
    "SLACK_WEBHOOK=https://hooks.slack.com/services/T000/B000/¤",
    "https://hooks.slack.com/services/T000/B000/¤",
    "https://discord.com/api/webhooks/123/¤",
    "https://h/?sig=¤&se=1",
    "https://h/cb?code=1&access_token=¤",
    "https://h/cb#access_token=¤",
    "https://h/?X-Amz-Credential=¤&X-Amz-Signature=¤",
    "Proxy-Authorization: Digest username=\"u\", nonce=\"¤\", response=\"¤\"",
    "Set-Cookie: JSESSIONID=¤; HttpOnly",
    "document.cookie = \"sid=¤\"",
    "cookies = {\"sid\": \"¤\"}",
    "JSESSIONID=¤",
    "PHPSESSID=¤; theme=x",
    "machine h login u account a password ¤",
    "password ¤",
    "user u\npassword ¤",
    "[default]\naws_access_key_id = AKIAIOSFODNN7EXAMPLE\naws_secret_access_key = ¤",
    "[mysqld]\nuser=root\npassword=¤",
    "[client]\npassword = \"¤\"",
    "<connectionStrings><add name=\"x\" connectionString=\"Server=h;Password=¤;\"/></connectionStrings>",
    "passwords: [¤, x]",
    "secrets = [\"¤\", \"x\"]",
    "secrets: {a: ¤}",
    "tokens:\n  - name: a\n    value: ¤\n",
    "{\"key\": \"password\", \"value\": \"¤\"}",
    "[{\"Name\": \"DbPassword\", \"Value\": \"¤\"}]",
    "{\"field\": \"ssn_token\", \"new_value\": \"¤\"}",
    "Key=DB_PASSWORD,Value=¤",
    "ParameterKey=DBPassword,ParameterValue=¤",
    "--parameters ParameterKey=DBPassword,ParameterValue=¤",
    "--environment Variables={API_KEY=¤,X=y}",
    "--secret-string ¤",
    "--secret-string '{\"password\":\"¤\"}'",
    "--client-secret=¤",
    "--pass ¤",
    "-pass pass:¤",
    "--key ¤",
    "--auth u:¤",
    "--basic-auth u:¤",
    "--http-user=u --http-passwd=¤",
    "--proxy-password \"¤ x\"",
    "--api-key=¤",
    "--token \"¤\"",
    "--access-key AKIA --secret-key ¤",
    "ftp://u:¤@h/x",
    "smtp://u%40h:¤@h:587",
    "ldap://cn=x:¤@h",
    "AUTH ¤",
    "PASS ¤",
];
/// Values that are known by their look, wherever they stand.
const LOOKS: &[&str] = &[
    "sk-abcdefghijklmnop0123",
    "sk-ant-api03-abcdefghijklmnopqrst",
    "ghp_0123456789abcdefghijABCDEFGHIJ",
    "github_pat_11ABCDEFG0123456789_abcdefghij",
    "glpat-abcdefghij0123456789",
    "xoxb-123456789012-abcdefghij",
    "AKIAIOSFODNN7EXAMPLE",
    "AIzaSyA0123456789abcdefghijklmnopqrstuv",
    "hf_abcdefghijklmnopqrstuvwx",
    "npm_abcdefghijklmnopqrstuvwxyz0123456789",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
    "SG.abcdefghijklmnopqrstuv.wxyz",
    "sk_live_abcdefghij0123",
    "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "123456789:AAabcdefghijklmnopqrstuvwxyz0123456",
    "$2b$12$abcdefghijklmnopqrstuvwxyz012345678901234567890123456",
    "hvs.CAESIabcdefghijklmnop",
    "dckr_pat_abcdefghijklmnop",
    "Bearer abcdef0123456789",
    "Basic dXNlcjpodW50ZXIy",
];

/// The same text as it may stand in a record.
fn nestings(text: &str) -> Vec<(&'static str, Value)> {
    let quoted = json!(text).to_string();
    let command = json!({ "command": text }).to_string();
    vec![
        ("alone", json!(text)),
        ("in an object", json!({"a": {"text": text, "n": 1}})),
        ("in a list", json!(["x", text, 2])),
        ("after a line", json!(format!("Sure, here it is.\n{text}"))),
        ("JSON in a text", json!(format!("see {quoted} there"))),
        ("a call", json!(format!("<tool_call>{{\"name\":\"run\",\"arguments\":{command}}}</tool_call>"))),
        ("JSON in JSON", json!({ "arguments": command })),
        ("JSON in JSON in a text", json!(format!("see {} there", json!({ "arguments": command })))),
    ]
}

/// Pieces of a value by which it could be told, as they look in JSON.
fn pieces(value: &str) -> Vec<String> {
    value
        .split(|c: char| !c.is_alphanumeric())
        .filter(|piece| piece.len() >= 4 && !matches!(*piece, "Bearer" | "Basic"))
        .map(str::to_owned)
        .collect()
}

/// Every case that survives, with its nesting.
fn survivors(text: &str, value: &str) -> Vec<String> {
    let pieces = pieces(value);
    assert!(!pieces.is_empty(), "{value}");
    let survives = |(nesting, nested): (&str, Value)| {
        let kept = full().everything(&json!({ "x": nested }).into()).to_string();
        let left = pieces.iter().find(|piece| kept.contains(piece.as_str()))?;
        Some(format!("{nesting}: {left} of {text:?} is left in {kept}"))
    };
    nestings(text).into_iter().filter_map(survives).collect()
}

fn assert_none(cases: usize, survivors: &[String]) {
    let step = survivors.len() / 30 + 1;
    let shown: Vec<&String> = survivors.iter().step_by(step).collect();
    assert!(survivors.is_empty(), "{} of {cases} survive: {shown:#?}", survivors.len());
}

fn escaped(value: &str) -> String {
    let quoted = json!(value).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

#[test]
fn a13_no_secret_survives_in_any_form_name_look_and_nesting() {
    let mut left = Vec::new();
    let mut cases = 0;
    let mut check = |form: &str, name: &str, value: &str, written: &str| {
        let text = form.replace('§', name).replace('¤', written);
        cases += nestings("").len();
        left.extend(survivors(&text, value));
    };
    for name in STRONG {
        for value in WORDS {
            WORD_FORMS.iter().for_each(|form| check(form, name, value, value));
        }
        for value in WORDS.iter().chain(LINES).chain(QUOTED) {
            STRONG_QUOTED_FORMS.iter().for_each(|form| check(form, name, value, &escaped(value)));
        }
    }
    for name in STRONG.iter().chain(WEAK) {
        for value in WORDS.iter().chain(LINES) {
            LINE_FORMS.iter().for_each(|form| check(form, name, value, value));
        }
        for value in WORDS.iter().chain(LINES).chain(QUOTED) {
            QUOTED_FORMS.iter().for_each(|form| check(form, name, value, &escaped(value)));
        }
    }
    assert_none(cases, &left);
}

#[test]
fn a13_no_secret_survives_in_headers_commands_files_and_addresses() {
    let mut left = Vec::new();
    let values = ["hunter2xyz", "Zm9vYmFyQmF6Cg==", "b3ta-G4mma_d3lta", "zu.lang.er1"];
    for form in SPECIAL.iter().chain(FOUND) {
        for value in values {
            left.extend(survivors(&form.replace('¤', value), value));
        }
    }
    assert_none((SPECIAL.len() + FOUND.len()) * values.len() * nestings("").len(), &left);
}

#[test]
fn a13_no_secret_survives_that_is_known_by_its_look() {
    let mut left = Vec::new();
    let forms = [
        "¤",
        "use ¤ now",
        "x=¤",
        "(¤)",
        "\"¤\"",
        "a: ¤\nb: c",
        "[¤, ¤]",
        "https://h.example/¤/x",
        "my-¤",
        "¤.",
    ];
    for value in LOOKS {
        for form in forms.iter().filter(|form| !(value.contains(['/', ' ']) && form.contains("h.example"))) {
            left.extend(survivors(&form.replace('¤', value), value));
        }
    }
    assert_none(forms.len() * LOOKS.len() * nestings("").len(), &left);
}

#[test]
fn a13_no_secret_survives_in_values_that_are_not_text() {
    let secret = "hunter2xyz";
    let mut left = Vec::new();
    for name in STRONG.iter().chain(WEAK) {
        for value in [
            json!({ *name: secret }),
            json!({ *name: [secret, secret] }),
            json!({ *name: {"a": {"b": [secret]}} }),
            json!({ *name: 12_345_678 }),
            json!([{"name": name, "value": secret}]),
            json!([{"key": name, "value": [secret]}]),
            json!({"env": [{"value": secret, "name": name}]}),
            json!({"header": name, "val": secret}),
            json!({"Key": name, "Value": secret}),
            json!({"ParameterKey": name, "ParameterValue": secret}),
            json!({"argv": ["tool", format!("--{name}"), secret]}),
            json!({"argv": ["tool", format!("--{name}={secret}")]}),
        ] {
            for nested in
                [value.clone(), json!({"a": [{"b": value.clone()}]}), json!({"text": value.to_string()})]
            {
                let kept = full().everything(&(&nested).into()).to_string();
                if kept.contains(secret) || kept.contains("12345678") {
                    left.push(format!("{nested} -> {kept}"));
                }
            }
        }
    }
    let aws = "abcdefghijABCDEFGHIJabcdefghijABCDEFGHIJ";
    for nested in [
        json!({"id": "AKIAIOSFODNN7EXAMPLE", "s": aws}),
        json!(["AKIAIOSFODNN7EXAMPLE", aws]),
        json!({"t": format!("AKIAIOSFODNN7EXAMPLE {aws}")}),
        json!({"argv": ["curl", "-u", "me:abcdefghij"]}),
        json!({"argv": ["/usr/bin/curl", "--user", "me:abcdefghij"]}),
        json!({"argv": ["sshpass", "-p", "abcdefghij", "ssh"]}),
        json!({"t": "{\"pass\\u0077ord\": \"abcdefghij\"}"}),
    ] {
        let kept = full().everything(&(&nested).into()).to_string();
        if kept.contains("abcdefghij") {
            left.push(format!("{nested} -> {kept}"));
        }
    }
    assert_none(0, &left);
}

#[test]
fn a13_ordinary_values_stay() {
    for text in [
        "task-abcdefghijklmnopqrst",
        "sk-short",
        "the key: be kind",
        "http://host:80/a@b",
        "a monkey=1",
        "eyJ",
        "password: ",
        "see token",
        "the author: Ann",
        "größe=1",
        "-----BEGIN CERTIFICATE-----\nabc",
        "max_tokens: 100",
        "max_tokens=4096",
        "{\"max_tokens\": 100, \"n\": 1}",
        "{\"path\": \"src/main.rs\", \"content\": \"fn main() {}\"}",
        "the monkey keyboard",
        "ssh://git@github.com/a/b.git",
        "mailto:ann@example.com",
        "ssh -p 2222 host",
        "docker run -p 8080:80 image",
        "cp -p a b",
        "grep -u x",
        "curl -s https://example.com/a?b=c",
        "mysql -u root db",
        "tar -xzf a.tgz",
        "12:30:15",
        "0123456789abcdef0123456789abcdef01234567",
        "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "/usr/local/share/doc/some/long/path/to/x",
        "550e8400-e29b-41d4-a716-446655440000",
        "Basic training",
        "bearer of news",
        "reset your password",
        "password policy",
        "a secretary of state: Ann",
        "passwordless: yes",
        "tokenizer: bpe",
        "authority: high",
        "pinned: true",
        "keyboard=qwerty",
        "turkey: 1",
        "compass: north",
        "use the key to open it",
        "fn key(&self) -> u32 { 1 }",
        "name: Ann\nvalue: 5",
        "{\"name\": \"colour\", \"value\": \"red\"}",
        "[\"a\", \"b\"]",
        "git status && git diff",
        "SELECT * FROM t WHERE id = 5",
        "2026-11-15T20:00:00Z",
        "http://[::1]:80/a@b",
        "The quick brown fox: jumps = over | the, lazy; dog.",
    ] {
        assert_eq!(full().text(text), text);
        let nested = json!({"text": text, "list": [text]});
        assert_eq!(full().everything(&(&nested).into()), nested.into());
    }
    for value in [
        json!({"path": "a.txt", "n": 5, "ok": true, "list": [1, "two", null], "max_tokens": 100}),
        json!({"name": "colour", "value": "red"}),
        json!({"argv": ["ls", "-la", "src"]}),
        json!(["look", "put"]),
        json!({"command": "cargo test -p callgate --test laws"}),
    ] {
        assert_eq!(full().everything(&(&value).into()), value.into());
    }
}

#[test]
fn a13_what_stands_around_a_secret_stays() {
    for (text, kept) in [
        ("user: bob\npassword: x1y2z3\nhost: h", "user: bob\npassword: ***\nhost: h"),
        ("curl -u me:x1y2z3 https://h.example", "curl -u *** https://h.example"),
        (
            "{\"user\": \"bob\", \"password\": \"x y\", \"n\": 1} after",
            "{\"user\": \"bob\", \"password\": \"***\", \"n\": 1} after",
        ),
        ("a?token=x1&b=2", "a?token=***&b=2"),
        ("run --password x1y2 --verbose", "run --password *** --verbose"),
        ("Authorization: Bearer x1y2\nAccept: z", "Authorization: Bearer ***\nAccept: z"),
        ("secrets:\n  - a1\n  - b2\nother: c", "secrets:***\nother: c"),
        ("<password>x</password><user>bob</user>", "<password>***</password><user>bob</user>"),
        ("machine h login me password x1y2\n", "machine h login me password ***\n"),
        ("{\\\"password\\\": \\\"x y\\\", \\\"n\\\": 1}", "{\\\"password\\\": \\\"***\\\", \\\"n\\\": 1}"),
        ("postgres://me:x@db/x", "postgres://***@db/x"),
    ] {
        assert_eq!(full().text(text), kept.replace("***", REDACTED), "{text}");
    }
}

#[test]
fn a13_hostile_text_costs_what_its_length_costs() {
    // A quadratic look would not come back.
    for unit in [
        "sk-",
        "eyJ.",
        "password",
        "://a",
        "://a:b/",
        "-----BEGIN ",
        "token=",
        "a_",
        "name: {",
        "\"name\": \"",
        "value: ",
        "\"value\": \"x\", ",
        "password: {",
        "key: [",
        "--password ",
        "curl -u ",
        "\\\"",
        "password: '",
        "x: \\n",
        "token |",
        "<password>",
        "-----BEGIN PRIVATE KEY",
        "password is ",
        "AKIA",
        "AKIA wJalrXUtnFEMI",
        "secret:\n ",
        "[token]\n",
        "-",
        "Basic ",
        "machine login password ",
        "password:\n",
        "password,",
        "(password=",
        "&token=a",
        "a=b&",
    ] {
        let text = unit.repeat(1_000_000 / unit.len());
        assert!(!full().text(&text).is_empty());
    }
}

#[test]
fn a13_no_text_breaks_the_reader() {
    const PIECES: &[&str] = &[
        "password",
        "key",
        "name",
        "value",
        "é",
        "：",
        "→",
        "\u{1f600}",
        "\"",
        "'",
        "`",
        "\\",
        "\\n",
        "\n",
        "\r\n\r\n",
        " ",
        "=",
        ":",
        ": ",
        "{",
        "}",
        "[",
        "]",
        "(",
        ")",
        "<",
        ">",
        "</",
        "<td>",
        "</td>",
        "-",
        "--",
        "-u",
        "curl ",
        "://",
        "@",
        "|",
        "&",
        ";",
        ",",
        ".",
        "*",
        "$",
        "!",
        "-----BEGIN PRIVATE KEY-----",
        "-----END ",
        "AKIA",
        "Bearer ",
        "Basic ",
        "is ",
        "set ",
        "machine ",
        "login ",
        "identified by ",
        "sk-",
        "eyJ",
        "0123456789abcdefghij",
        "ü",
        "\u{2028}",
        "\t",
        "  ",
        "\"\"\"",
    ];
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = |most: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % most
    };
    for _ in 0..50_000 {
        let text: String = (0..1 + next(24)).map(|_| PIECES[next(PIECES.len())]).collect();
        let once = full().text(&text);
        assert_eq!(once.is_empty(), text.is_empty(), "{text:?}");
        // In a record it stands in JSON, and in a call in JSON in JSON.
        let nested = json!({ "x": json!({ "y": text }).to_string() });
        assert!(full().everything(&nested.into()).to_value().is_object());
    }
}
