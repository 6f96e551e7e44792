//! Rows turned into the columns of a Parquet file.

use crate::row::{Outcome, Row};
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::Result;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use std::io::Write;
use std::sync::Arc;

/// The columns of `contracts/records/README.md`, version 1.
const SCHEMA: &str = "
message attempts {
  required int32 user (integer(32,false));
  required binary group (string);
  required binary step (string);
  required int32 call (integer(32,false));
  required int32 attempt (integer(16,false));
  required int64 intended_us;
  required int64 start_us;
  optional int64 first_byte_us;
  required int64 end_us;
  required binary outcome (string);
  optional int32 status (integer(16,false));
  required boolean success;
  optional int32 bytes (integer(32,false));
  required boolean warm_up;
}";

/// Further columns of rounds of journeys.
const OF_JOURNEYS: &str = "
  required int32 journey (integer(32,false));
  required boolean ends_journey;
  optional int32 items (integer(32,false));
  optional int32 failed_items (integer(32,false));
}";

/// The same schemas for readers that know Arrow; `arrow_schema.py` makes them.
const ARROW_SCHEMA: &str = include_str!("arrow_schema.b64");
const ARROW_SCHEMA_OF_JOURNEYS: &str = include_str!("arrow_schema_of_journeys.b64");

/// The texts of the indices in rows.
pub struct Texts {
    groups: Vec<ByteArray>,
    steps: Vec<ByteArray>,
    outcomes: Vec<ByteArray>,
}

impl Texts {
    pub fn new(groups: &[String], steps: &[String]) -> Self {
        let bytes = |name: &String| ByteArray::from(name.as_bytes().to_vec());
        let outcome = |outcome: &Outcome| ByteArray::from(outcome.name());
        Self {
            groups: groups.iter().map(bytes).collect(),
            steps: steps.iter().map(bytes).collect(),
            outcomes: Outcome::ALL.iter().map(outcome).collect(),
        }
    }
}

/// A Parquet file for attempts, with the columns of journeys where they are wanted.
pub fn file_writer<W: Write + Send>(sink: W, journeys: bool) -> Result<SerializedFileWriter<W>> {
    let with_journeys = || SCHEMA.trim_end_matches('}').to_owned() + OF_JOURNEYS;
    let schema = parse_message_type(&if journeys {
        with_journeys()
    } else {
        SCHEMA.to_owned()
    })?;
    SerializedFileWriter::new(sink, Arc::new(schema), Arc::new(properties(journeys)?))
}

/// Numbers are stored as differences, which makes them small; names as dictionaries. The general compressor comes on top.
fn properties(journeys: bool) -> Result<WriterProperties> {
    let arrow = if journeys {
        ARROW_SCHEMA_OF_JOURNEYS
    } else {
        ARROW_SCHEMA
    };
    let mut builder = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(1)?))
        .set_statistics_enabled(EnabledStatistics::None)
        .set_offset_index_disabled(true)
        .set_dictionary_enabled(false)
        .set_encoding(Encoding::DELTA_BINARY_PACKED)
        .set_key_value_metadata(Some(vec![KeyValue::new(
            "ARROW:schema".to_owned(),
            arrow.trim().to_owned(),
        )]));
    for name in ["group", "step", "outcome"] {
        builder = builder
            .set_column_dictionary_enabled(name.into(), true)
            .set_column_encoding(name.into(), Encoding::PLAIN);
    }
    for name in ["success", "warm_up", "ends_journey"] {
        builder = builder.set_column_encoding(name.into(), Encoding::PLAIN);
    }
    Ok(builder.build())
}

/// Space for the values of one column at a time, used again for every row group.
#[derive(Default)]
pub struct Scratch {
    narrow: Vec<i32>,
    wide: Vec<i64>,
    flags: Vec<bool>,
    texts: Vec<ByteArray>,
    present: Vec<i16>,
}

/// Writes rows as one row group.
pub fn write<W: Write + Send>(
    file: &mut SerializedFileWriter<W>,
    rows: &[Row],
    texts: &Texts,
    scratch: &mut Scratch,
    journeys: bool,
) -> Result<()> {
    let mut group = Group {
        writer: file.next_row_group()?,
        rows,
        scratch,
    };
    // In the order of the schema.
    group.narrow(|row| row.user as i32)?;
    group.text(|row| &texts.groups[usize::from(row.group)])?;
    group.text(|row| &texts.steps[usize::from(row.step)])?;
    group.narrow(|row| row.call as i32)?;
    group.narrow(|row| i32::from(row.attempt))?;
    group.wide(|row| row.intended_us)?;
    group.wide(|row| row.start_us)?;
    group.optional_wide(|row| (row.first_byte_us >= 0).then_some(row.first_byte_us))?;
    group.wide(|row| row.end_us)?;
    group.text(|row| &texts.outcomes[row.outcome as usize])?;
    group.optional_narrow(|row| (row.status != 0).then_some(i32::from(row.status)))?;
    group.flag(|row| row.success)?;
    group.optional_narrow(|row| (row.bytes != Row::NO_BYTES).then_some(row.bytes as i32))?;
    group.flag(|row| row.warm_up)?;
    if journeys {
        group.narrow(|row| row.journey as i32)?;
        group.flag(|row| row.ends_journey)?;
        group.optional_narrow(|row| (row.items > 0).then_some(row.items as i32))?;
        group.optional_narrow(|row| (row.items > 0).then_some(row.failed_items as i32))?;
    }
    group.writer.close()?;
    Ok(())
}

struct Group<'a, 'w, W: Write> {
    writer: SerializedRowGroupWriter<'w, W>,
    rows: &'a [Row],
    scratch: &'a mut Scratch,
}

impl<W: Write + Send> Group<'_, '_, W> {
    fn narrow(&mut self, value: impl Fn(&Row) -> i32) -> Result<()> {
        self.scratch.narrow.clear();
        self.scratch.narrow.extend(self.rows.iter().map(value));
        put::<Int32Type, W>(&mut self.writer, &self.scratch.narrow, None)
    }

    fn wide(&mut self, value: impl Fn(&Row) -> i64) -> Result<()> {
        self.scratch.wide.clear();
        self.scratch.wide.extend(self.rows.iter().map(value));
        put::<Int64Type, W>(&mut self.writer, &self.scratch.wide, None)
    }

    fn flag(&mut self, value: impl Fn(&Row) -> bool) -> Result<()> {
        self.scratch.flags.clear();
        self.scratch.flags.extend(self.rows.iter().map(value));
        put::<BoolType, W>(&mut self.writer, &self.scratch.flags, None)
    }

    fn text<'t>(&mut self, value: impl Fn(&Row) -> &'t ByteArray) -> Result<()> {
        self.scratch.texts.clear();
        self.scratch
            .texts
            .extend(self.rows.iter().map(|row| value(row).clone()));
        put::<ByteArrayType, W>(&mut self.writer, &self.scratch.texts, None)
    }

    fn optional_narrow(&mut self, value: impl Fn(&Row) -> Option<i32>) -> Result<()> {
        let Scratch { narrow, present, .. } = self.scratch;
        split(self.rows.iter().map(value), narrow, present);
        put::<Int32Type, W>(&mut self.writer, narrow, Some(present))
    }

    fn optional_wide(&mut self, value: impl Fn(&Row) -> Option<i64>) -> Result<()> {
        let Scratch { wide, present, .. } = self.scratch;
        split(self.rows.iter().map(value), wide, present);
        put::<Int64Type, W>(&mut self.writer, wide, Some(present))
    }
}

/// Parquet stores the values that are present, and for every row whether it has one.
fn split<T>(values: impl Iterator<Item = Option<T>>, there: &mut Vec<T>, present: &mut Vec<i16>) {
    there.clear();
    present.clear();
    for value in values {
        present.push(i16::from(value.is_some()));
        there.extend(value);
    }
}

fn put<T: DataType, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: &[T::T],
    present: Option<&[i16]>,
) -> Result<()> {
    let Some(mut column) = group.next_column()? else {
        return Err(parquet::errors::ParquetError::General(
            "more columns than the schema has".to_owned(),
        ));
    };
    column.typed::<T>().write_batch(values, present, None)?;
    column.close()
}
