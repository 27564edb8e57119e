//! Columns: responses as rows of columns, in the memory layout of Arrow.

use callgate::{Finding, Response, Span};

use crate::event::Marks;
use crate::response::AllMarks;

/// A column and everything below it.
#[derive(Debug)]
pub(crate) struct Column {
    pub(super) name: &'static str,
    pub(super) length: usize,
    pub(super) nulls: usize,
    /// A bit for each row that holds something.
    pub(super) valid: Vec<u8>,
    pub(super) data: Data,
}

/// What a column holds, as the buffers of its type.
#[derive(Debug)]
pub(super) enum Data {
    Texts { offsets: Vec<i32>, bytes: Vec<u8> },
    Integers(Vec<i64>),
    Booleans(Vec<u8>),
    Lists { offsets: Vec<i32>, item: Box<Column> },
    Structs(Vec<Column>),
}

/// A batch with more text than its offsets can count.
#[derive(Debug)]
pub(crate) struct Overflow;

fn set_bit(bits: &mut Vec<u8>, at: usize, value: bool) {
    if bits.len() <= at / 8 {
        bits.push(0);
    }
    if let Some(byte) = bits.get_mut(at / 8) {
        *byte |= u8::from(value) << (at % 8);
    }
}

fn offset(length: usize) -> Result<i32, Overflow> {
    i32::try_from(length).map_err(|_| Overflow)
}

impl Column {
    fn new(name: &'static str, data: Data) -> Self {
        Column { name, length: 0, nulls: 0, valid: Vec::new(), data }
    }

    fn texts(name: &'static str) -> Self {
        Column::new(name, Data::Texts { offsets: vec![0], bytes: Vec::new() })
    }

    fn integers(name: &'static str) -> Self {
        Column::new(name, Data::Integers(Vec::new()))
    }

    fn booleans(name: &'static str) -> Self {
        Column::new(name, Data::Booleans(Vec::new()))
    }

    fn lists(name: &'static str, item: Column) -> Self {
        Column::new(name, Data::Lists { offsets: vec![0], item: Box::new(item) })
    }

    fn structs(name: &'static str, fields: Vec<Column>) -> Self {
        Column::new(name, Data::Structs(fields))
    }

    /// One more row, of which the data is already there.
    fn row(&mut self, is_valid: bool) {
        set_bit(&mut self.valid, self.length, is_valid);
        self.nulls += usize::from(!is_valid);
        self.length += 1;
    }

    fn text(&mut self, text: Option<&str>) -> Result<(), Overflow> {
        if let Data::Texts { offsets, bytes } = &mut self.data {
            bytes.extend_from_slice(text.unwrap_or_default().as_bytes());
            offsets.push(offset(bytes.len())?);
        }
        self.row(text.is_some());
        Ok(())
    }

    fn integer(&mut self, value: Option<usize>) {
        if let Data::Integers(values) = &mut self.data {
            values.push(value.and_then(|value| i64::try_from(value).ok()).unwrap_or_default());
        }
        self.row(value.is_some());
    }

    fn boolean(&mut self, value: Option<bool>) {
        let at = self.length;
        if let Data::Booleans(bits) = &mut self.data {
            set_bit(bits, at, value.unwrap_or_default());
        }
        self.row(value.is_some());
    }

    /// A list, whose items are put into the column below.
    fn list<T>(
        &mut self,
        items: Option<impl IntoIterator<Item = T>>,
        mut put: impl FnMut(&mut Column, T) -> Result<(), Overflow>,
    ) -> Result<(), Overflow> {
        let is_valid = items.is_some();
        if let Data::Lists { offsets, item } = &mut self.data {
            for value in items.into_iter().flatten() {
                put(item, value)?;
            }
            offsets.push(offset(item.length)?);
        }
        self.row(is_valid);
        Ok(())
    }

    /// A row of a structure, whose fields are filled one by one.
    fn fill(
        &mut self,
        is_valid: bool,
        fill: impl FnOnce(&mut [Column]) -> Result<(), Overflow>,
    ) -> Result<(), Overflow> {
        if let Data::Structs(fields) = &mut self.data {
            fill(fields)?;
        }
        self.row(is_valid);
        Ok(())
    }
}

/// The columns of a place.
fn place() -> [Column; 4] {
    ["start", "end", "char_start", "char_end"].map(Column::integers)
}

fn put_place(fields: &mut [Column], span: Option<Span>, marks: &Marks, at: usize) {
    let pair = match marks {
        None => span.map(|span| (span.start, span.end)),
        Some(marks) => marks.get(at).copied().flatten(),
    };
    let values = [span.map(|s| s.start), span.map(|s| s.end), pair.map(|p| p.0), pair.map(|p| p.1)];
    fields.iter_mut().zip(values).for_each(|(field, value)| field.integer(value));
}

fn with_place(fields: Vec<Column>) -> Vec<Column> {
    fields.into_iter().chain(place()).collect()
}

/// The columns of responses, without rows.
fn responses() -> Column {
    let words = |name| Column::lists(name, Column::texts("item"));
    let calls = vec![
        Column::integers("attempt"),
        Column::texts("id"),
        Column::texts("name"),
        Column::texts("arguments"),
        Column::booleans("checked"),
        Column::texts("dialect"),
        words("repairs"),
        words("coercions"),
        words("after"),
    ];
    let rejected = vec![
        Column::integers("attempt"),
        Column::texts("id"),
        Column::texts("name"),
        Column::texts("code"),
        Column::texts("raw"),
        Column::texts("dialect"),
    ];
    let findings = vec![
        Column::texts("code"),
        Column::texts("severity"),
        Column::integers("attempt"),
        Column::texts("path"),
        Column::texts("message"),
        Column::texts("help"),
        Column::integers("count"),
    ];
    Column::structs(
        "",
        vec![
            Column::texts("text"),
            Column::texts("reasoning"),
            Column::lists("calls", Column::structs("item", with_place(calls))),
            Column::lists("rejected", Column::structs("item", with_place(rejected))),
            Column::lists("findings", Column::structs("item", with_place(findings))),
            Column::structs("model_error", vec![Column::texts("code"), Column::texts("message")]),
            Column::texts("finish_reason"),
        ],
    )
}

/// Responses as rows; one that is missing is a row of nulls.
pub(crate) fn rows(all: &[Option<(Response, AllMarks)>]) -> Result<Column, Overflow> {
    let mut column = responses();
    for one in all {
        column.fill(true, |fields| match one {
            None => put(fields, None, &None),
            Some((response, marks)) => put(fields, Some(response), marks),
        })?;
    }
    Ok(column)
}

fn put(fields: &mut [Column], response: Option<&Response>, marks: &AllMarks) -> Result<(), Overflow> {
    let [text, reasoning, calls, rejected, findings, model_error, finish_reason] = fields else {
        return Ok(());
    };
    let mark = |at: usize| marks.as_ref().and_then(|marks| marks.get(at).cloned().flatten());
    text.text(response.map(|response| &*response.text))?;
    reasoning.text(response.map(|response| &*response.reasoning))?;
    calls.list(response.map(|response| response.calls.iter().enumerate()), |item, (at, call)| {
        item.fill(true, |fields| {
            let [attempt, id, name, arguments, checked, dialect, repairs, coercions, after, place @ ..] =
                fields
            else {
                return Ok(());
            };
            attempt.integer(Some(call.attempt));
            id.text(Some(&call.id))?;
            name.text(Some(&call.name))?;
            arguments.text(Some(&call.arguments))?;
            checked.boolean(Some(call.checked));
            dialect.text(Some(&call.dialect))?;
            repairs.list(Some(&call.repairs), |item, repair| item.text(Some(repair.code.word())))?;
            coercions
                .list(Some(&call.coercions), |item, coercion| item.text(Some(&coercion.code.to_string())))?;
            after.list(Some(&call.after), |item, id| item.text(Some(id)))?;
            put_place(place, call.span, &mark(at), 0);
            Ok(())
        })
    })?;
    let before = response.map_or(0, |response| response.calls.len());
    rejected.list(response.map(|response| response.rejected.iter().enumerate()), |item, (at, one)| {
        item.fill(true, |fields| {
            let [attempt, id, name, code, raw, dialect, place @ ..] = fields else { return Ok(()) };
            attempt.integer(Some(one.attempt));
            id.text(one.id.as_deref())?;
            name.text(one.name.as_deref())?;
            code.text(one.findings.first().map(|finding| finding.code.word()))?;
            raw.text(Some(&one.raw))?;
            dialect.text(Some(&one.dialect))?;
            put_place(place, one.span, &mark(before + at), 0);
            Ok(())
        })
    })?;
    findings.list(
        response.map(|response| found(response, &mark)),
        |item, (attempt, finding, marks, at)| {
            item.fill(true, |fields| {
                let [code, severity, number, path, message, help, count, place @ ..] = fields else {
                    return Ok(());
                };
                code.text(Some(finding.code.word()))?;
                severity.text(Some(&finding.severity().to_string()))?;
                number.integer(attempt);
                path.text(Some(&finding.path))?;
                message.text(Some(&finding.message))?;
                help.text(Some(&finding.help))?;
                count.integer(Some(finding.count));
                put_place(place, finding.span, &marks, at);
                Ok(())
            })
        },
    )?;
    let error = response.and_then(|response| response.model_error.as_ref());
    model_error.fill(error.is_some(), |fields| {
        let [code, message] = fields else { return Ok(()) };
        code.text(error.map(|error| &*error.code))?;
        message.text(error.map(|error| &*error.message))
    })?;
    finish_reason.text(response.map(Response::finish_word))
}

/// Every finding of a response with its attempt, and where its place is among which marks.
fn found<'r>(
    response: &'r Response,
    mark: &dyn Fn(usize) -> Marks,
) -> Vec<(Option<usize>, &'r Finding, Marks, usize)> {
    let (calls, rejected) = (response.calls.len(), response.rejected.len());
    let mut all = Vec::new();
    for (at, finding) in response.findings.iter().enumerate() {
        all.push((None, finding, mark(calls + rejected + at), 0));
    }
    for (at, call) in response.calls.iter().enumerate() {
        let from = 1 + call.repairs.len();
        all.extend(
            call.findings
                .iter()
                .enumerate()
                .map(|(n, finding)| (Some(call.attempt), finding, mark(at), from + n)),
        );
    }
    for (at, one) in response.rejected.iter().enumerate() {
        let findings = one.findings.iter().enumerate();
        all.extend(findings.map(|(n, finding)| (Some(one.attempt), finding, mark(calls + at), 1 + n)));
    }
    all
}
