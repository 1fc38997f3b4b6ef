//! A device that learns which of three documents a person opens.

use foltr_client::{Device, FeatureSchema, Normalisation, Options};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Two numbers describe a document: words of the query that it has, and stars that readers gave it.
    let features = FeatureSchema::numbered(2, Normalisation::None);
    let folder = std::env::temp_dir().join("foltr-quick-start");
    let device = Device::open(folder, Options::new(features))?;

    // Three candidates, one after the other. This person likes stars: the last one.
    let candidates = [3.0, 1.0, 2.0, 2.0, 1.0, 5.0];
    let wanted = 2;

    let mut position = 0;
    for _ in 0..200 {
        let shown = device.rank(&candidates)?;
        position = shown.order.iter().position(|&document| document == wanted).expect("all are shown");
        device.clicked(shown.impression, position)?;
        device.dismiss(shown.impression)?;
    }
    println!("The document was at position {} of the last list.", position + 1);
    Ok(())
}
