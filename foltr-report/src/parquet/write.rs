//! `rows.csv` once more as `rows.parquet`, which opens much faster when there are millions of rows.

use std::collections::HashMap;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ::parquet::basic::{Compression, LogicalType, Repetition, Type as PhysicalType};
use ::parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use ::parquet::errors::ParquetError as CrateError;
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::writer::SerializedFileWriter;
use ::parquet::schema::types::Type;
use csv::StringRecord;
use thiserror::Error;

/// Why rows could not be written as Parquet.
#[derive(Debug, Error)]
pub enum ParquetError {
    /// The rows are not what `foltr run` writes.
    #[error("{}: {found}; expected {expected}", file.display())]
    Rows {
        /// The CSV file.
        file: PathBuf,
        /// What is wrong, with its line.
        found: String,
        /// What would be right.
        expected: &'static str,
    },
    /// The Parquet file could not be written.
    #[error("{}: cannot be written: {source}", file.display())]
    Write {
        /// The Parquet file.
        file: PathBuf,
        /// What went wrong.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// Rows of one row group: enough for good compression, a few megabytes of memory.
const ROWS_A_GROUP: usize = 1 << 16;

/// One column of a batch.
enum Column {
    /// Text that repeats: every distinct text is kept once.
    Text { values: Vec<ByteArray>, known: HashMap<String, ByteArray> },
    /// A seed; Parquet keeps its 64 bits as a signed number with a note that it has no sign.
    Unsigned(Vec<i64>),
    /// A fold or round.
    Integer(Vec<i64>),
    /// A value.
    Double(Vec<f64>),
}

impl Column {
    fn of(name: &str) -> Self {
        match name {
            "seed" => Self::Unsigned(Vec::new()),
            "fold" | "round" => Self::Integer(Vec::new()),
            "value" => Self::Double(Vec::new()),
            _ => Self::Text { values: Vec::new(), known: HashMap::new() },
        }
    }

    fn schema(&self, name: &str) -> Result<Type, CrateError> {
        let (physical, logical) = match self {
            Self::Text { .. } => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String)),
            Self::Unsigned(_) => (PhysicalType::INT64, Some(LogicalType::integer(64, false))),
            Self::Integer(_) => (PhysicalType::INT64, None),
            Self::Double(_) => (PhysicalType::DOUBLE, None),
        };
        let column = Type::primitive_type_builder(name, physical).with_repetition(Repetition::REQUIRED);
        column.with_logical_type(logical).build()
    }

    /// Takes a cell, or says what it should be.
    fn push(&mut self, cell: &str) -> Result<(), &'static str> {
        match self {
            Self::Text { values, known } => {
                if !known.contains_key(cell) {
                    known.insert(cell.into(), ByteArray::from(cell));
                }
                values.push(known[cell].clone());
            }
            Self::Unsigned(values) => {
                values.push(cell.parse::<u64>().map_err(|_| "a whole number from 0")?.cast_signed());
            }
            Self::Integer(values) => values.push(cell.parse().map_err(|_| "a whole number")?),
            Self::Double(values) => values.push(cell.parse().map_err(|_| "a number")?),
        }
        Ok(())
    }

    fn clear(&mut self) {
        match self {
            Self::Text { values, .. } => values.clear(),
            Self::Unsigned(values) | Self::Integer(values) => values.clear(),
            Self::Double(values) => values.clear(),
        }
    }
}

/// Writes the rows of a CSV file as a Parquet file, a batch of rows at a time.
///
/// `seed` is an unsigned 64-bit integer, `fold` and `round` are 64-bit integers, `value` is a double; all other columns
/// are text.
///
/// # Errors
/// If the rows are not tidy, or a file cannot be read or written.
pub fn write_parquet(csv_path: &Path, parquet_path: &Path) -> Result<(), ParquetError> {
    let csv_failed = |error: csv::Error| ParquetError::Rows {
        file: csv_path.into(),
        found: error.to_string(),
        expected: "the rows.csv of a run",
    };
    let mut rows = csv::Reader::from_path(csv_path).map_err(csv_failed)?;
    let names = rows.headers().map_err(csv_failed)?.clone();
    if let Some(missing) =
        ["seed", "fold", "round", "metric", "value"].iter().find(|name| !names.iter().any(|it| it == **name))
    {
        let found = format!("there is no column `{missing}`");
        return Err(ParquetError::Rows { file: csv_path.into(), found, expected: "the rows.csv of a run" });
    }
    let failed = |source: CrateError| ParquetError::Write { file: parquet_path.into(), source: Box::new(source) };
    let file = File::create(parquet_path).map_err(|error| failed(error.into()))?;
    let mut columns: Vec<Column> = names.iter().map(Column::of).collect();
    let mut writer = open(file, &names, &columns).map_err(failed)?;
    let mut record = StringRecord::new();
    let mut n_rows = 0;
    while rows.read_record(&mut record).map_err(csv_failed)? {
        for ((column, cell), name) in columns.iter_mut().zip(&record).zip(&names) {
            column.push(cell).map_err(|expected| {
                let line = record.position().map_or(0, csv::Position::line);
                ParquetError::Rows {
                    file: csv_path.into(),
                    found: format!("line {line}: `{name}` is `{cell}`"),
                    expected,
                }
            })?;
        }
        n_rows += 1;
        if n_rows == ROWS_A_GROUP {
            write_group(&mut writer, &mut columns).map_err(failed)?;
            n_rows = 0;
        }
    }
    if n_rows > 0 {
        write_group(&mut writer, &mut columns).map_err(failed)?;
    }
    writer.close().map_err(failed)?;
    Ok(())
}

fn open(file: File, names: &StringRecord, columns: &[Column]) -> Result<SerializedFileWriter<File>, CrateError> {
    let fields = names.iter().zip(columns).map(|(name, column)| column.schema(name).map(Arc::new));
    let schema = Type::group_type_builder("rows").with_fields(fields.collect::<Result<_, _>>()?).build()?;
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_created_by(format!("foltr {}", env!("CARGO_PKG_VERSION")))
        .build();
    SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties))
}

fn write_group<W: Write + Send>(
    writer: &mut SerializedFileWriter<W>,
    columns: &mut [Column],
) -> Result<(), CrateError> {
    let mut group = writer.next_row_group()?;
    for column in columns {
        let Some(mut out) = group.next_column()? else { break };
        match column {
            Column::Text { values, .. } => out.typed::<ByteArrayType>().write_batch(values, None, None)?,
            Column::Unsigned(values) | Column::Integer(values) => {
                out.typed::<Int64Type>().write_batch(values, None, None)?
            }
            Column::Double(values) => out.typed::<DoubleType>().write_batch(values, None, None)?,
        };
        out.close()?;
        column.clear();
    }
    group.close()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use ::parquet::file::reader::{FileReader, SerializedFileReader};
    use ::parquet::record::RowAccessor;

    use super::*;

    const HEADER: &str = "data,users,seed,fold,round,metric,value";

    fn written(csv: &str) -> Result<SerializedFileReader<File>, ParquetError> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (from, to) = (folder.path().join("rows.csv"), folder.path().join("rows.parquet"));
        std::fs::write(&from, csv).expect("a file");
        write_parquet(&from, &to)?;
        Ok(SerializedFileReader::new(File::open(to).expect("a file")).expect("Parquet"))
    }

    #[test]
    fn rows_come_back_with_their_types_and_every_digit() {
        let n_rows = ROWS_A_GROUP + 3;
        let line = |i: usize| format!("\"a,b\",perfect {},{},1,{i},test-ndcg@10,{}\n", i % 3, u64::MAX, 0.1 * i as f64);
        let csv = format!("{HEADER}\n{}", (0..n_rows).map(line).collect::<String>());
        let reader = written(&csv).expect("tidy rows");
        assert_eq!(reader.metadata().num_row_groups(), 2);
        let mut n_read = 0;
        for (i, row) in reader.get_row_iter(None).expect("rows").enumerate() {
            let row = row.expect("a row");
            assert_eq!(row.get_string(0).expect("text"), "a,b");
            assert_eq!(row.get_string(1).expect("text"), &format!("perfect {}", i % 3));
            assert_eq!(row.get_ulong(2).expect("a seed"), u64::MAX);
            assert_eq!((row.get_long(3).expect("a fold"), row.get_long(4).expect("a round")), (1, i as i64));
            assert_eq!(row.get_string(5).expect("text"), "test-ndcg@10");
            assert_eq!(row.get_double(6).expect("a value").to_bits(), (0.1 * i as f64).to_bits());
            n_read += 1;
        }
        assert_eq!(n_read, n_rows);
    }

    #[test]
    fn rows_that_are_not_tidy_are_told_with_their_line() {
        let told = |csv: &str| written(csv).err().expect("not tidy").to_string();
        let text = told(&format!("{HEADER}\na,b,1,1,0,m,0.5\na,b,1,1,one,m,0.5\n"));
        assert!(text.ends_with("rows.csv: line 3: `round` is `one`; expected a whole number"), "{text}");
        let text = told("data,seed,fold,round,metric\na,1,1,1,m\n");
        assert!(text.ends_with("there is no column `value`; expected the rows.csv of a run"), "{text}");
        let text = told(&format!("{HEADER}\na,b,1\n"));
        assert!(text.contains("line: 2"), "{text}");
    }
}
