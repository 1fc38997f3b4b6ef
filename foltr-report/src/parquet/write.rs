//! `rows.csv` once more as `rows.parquet`, which opens much faster when there are millions of rows.
//!
//! `seed` is an unsigned 64-bit integer, `fold` and `round` are 64-bit integers, `value` is a double; all others are text.

use std::collections::HashMap;
use std::io::Write;
use std::sync::Arc;

use ::parquet::basic::{Compression, LogicalType, Repetition, Type as PhysicalType};
use ::parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use ::parquet::schema::types::Type;
use anyhow::{Context, Result};

use crate::rows::{setting_columns, setting_fields};
use foltr_experiment::results::{Results, Run};
use foltr_experiment::rows::{MetricName, Row};

/// Rows of one row group: enough for good compression, a few megabytes of memory.
const ROWS_A_GROUP: usize = 1 << 16;

pub fn write<W: Write + Send>(results: &Results, out: W) -> Result<()> {
    let fields: Vec<Vec<String>> = (0..results.grid.settings.len()).map(|it| setting_fields(results, it)).collect();
    let text = |column: usize| fields.iter().map(|fields| ByteArray::from(fields[column].as_str())).collect();
    let texts: Vec<Vec<ByteArray>> = (0..setting_columns(results).len()).map(text).collect();
    let mut metrics: HashMap<MetricName, ByteArray> = HashMap::new();
    let mut metric = |metric: MetricName| {
        let name = metrics.entry(metric).or_insert_with(|| ByteArray::from(metric.to_string().as_str()));
        name.clone()
    };
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_created_by(format!("foltr {}", env!("CARGO_PKG_VERSION")))
        .build();
    let mut writer = SerializedFileWriter::new(out, schema(results)?, Arc::new(properties))?;
    let mut batch: Vec<(&Run, Row)> = Vec::new();
    let mut write_batch = |batch: &mut Vec<(&Run, Row)>| -> Result<()> {
        let (runs, rows) = (|| batch.iter().map(|(run, _)| *run), || batch.iter().map(|(_, row)| *row));
        let mut group = writer.next_row_group()?;
        for column in &texts {
            add::<ByteArrayType, W>(&mut group, runs().map(|run| column[run.setting].clone()))?;
        }
        // Parquet stores the 64 bits of a seed as a signed number with a note that it has no sign.
        add::<Int64Type, W>(&mut group, runs().map(|run| run.seed.cast_signed()))?;
        add::<Int64Type, W>(&mut group, runs().map(|run| run.fold as i64))?;
        add::<Int64Type, W>(&mut group, rows().map(|row| row.round as i64))?;
        add::<ByteArrayType, W>(&mut group, rows().map(|row| metric(row.metric)))?;
        add::<DoubleType, W>(&mut group, rows().map(|row| row.value))?;
        group.close()?;
        batch.clear();
        Ok(())
    };
    for run in &results.runs {
        run.rows.visit(|row| {
            batch.push((run, row));
            if batch.len() == ROWS_A_GROUP { write_batch(&mut batch) } else { Ok(()) }
        })?;
    }
    if !batch.is_empty() {
        write_batch(&mut batch)?;
    }
    writer.close()?;
    Ok(())
}

fn schema(results: &Results) -> Result<Arc<Type>> {
    let field = |(name, physical, logical): (&str, PhysicalType, Option<LogicalType>)| {
        let field = Type::primitive_type_builder(name, physical).with_repetition(Repetition::REQUIRED);
        field.with_logical_type(logical).build().map(Arc::new)
    };
    let columns = setting_columns(results);
    let text = (PhysicalType::BYTE_ARRAY, Some(LogicalType::String));
    let columns = columns.iter().map(|name| (name.as_str(), text.0, text.1.clone())).chain([
        ("seed", PhysicalType::INT64, Some(LogicalType::integer(64, false))),
        ("fold", PhysicalType::INT64, None),
        ("round", PhysicalType::INT64, None),
        ("metric", text.0, text.1.clone()),
        ("value", PhysicalType::DOUBLE, None),
    ]);
    let fields = columns.map(field).collect::<Result<_, _>>()?;
    Ok(Arc::new(Type::group_type_builder("rows").with_fields(fields).build()?))
}

fn add<T: DataType, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: impl Iterator<Item = T::T>,
) -> Result<()> {
    let mut column = group.next_column()?.context("there are more columns than fields")?;
    column.typed::<T>().write_batch(&values.collect::<Vec<_>>(), None, None)?;
    Ok(column.close()?)
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use ::parquet::file::reader::{FileReader, SerializedFileReader};
    use ::parquet::record::RowAccessor;
    use foltr_experiment::grid::{Grid, Setting};
    use foltr_experiment::manifest::Manifest;
    use foltr_test::ExperimentFile;

    use super::*;

    #[test]
    fn rows_come_back_with_their_types_and_every_digit() {
        let n_rows = ROWS_A_GROUP + 3;
        let grid = Grid::from_toml(&ExperimentFile::fpdgd().to_string(), &[]).expect("a sound file");
        let experiment = grid.settings[0].experiment.clone();
        let labels = vec![("method".to_owned(), "\"a,b\"".to_owned())];
        let metric = "test-ndcg@10".parse().expect("a metric");
        let row = |round: usize| Row { round, metric, value: 0.1 * round as f64 };
        let run = Run {
            setting: 0,
            fold: 1,
            seed: u64::MAX,
            key: String::new(),
            rows: (0..n_rows).map(row).collect(),
            n_interactions: 0,
            training_seconds: 0.0,
            clients: Vec::new(),
        };
        let grid = Grid::of_settings(vec![Setting { labels, experiment }]);
        let results = Results { grid, runs: vec![run], about: Manifest::default(), root: std::path::PathBuf::new() };
        let mut file = tempfile::tempfile().expect("a temporary file");
        write(&results, file.try_clone().expect("a file")).expect("written");
        std::io::Seek::rewind(&mut file).expect("the start");
        let reader = SerializedFileReader::<File>::new(file).expect("Parquet");
        assert_eq!(reader.metadata().num_row_groups(), 2);
        let mut n_read = 0;
        for (i, row) in reader.get_row_iter(None).expect("rows").enumerate() {
            let row = row.expect("a row");
            let texts: Vec<&String> = [1, 2, 3, 7].map(|column| row.get_string(column).expect("text")).into();
            assert_eq!(texts, ["perfect", "pdgd", "\"a,b\"", "test-ndcg@10"]);
            assert_eq!(row.get_ulong(4).expect("a seed"), u64::MAX);
            assert_eq!((row.get_long(5).expect("a fold"), row.get_long(6).expect("a round")), (1, i as i64));
            assert_eq!(row.get_double(8).expect("a value").to_bits(), (0.1 * i as f64).to_bits());
            n_read += 1;
        }
        assert_eq!(n_read, n_rows);
    }
}
