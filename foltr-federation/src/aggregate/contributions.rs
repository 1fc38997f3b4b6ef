//! What the clients of a round sent, as one matrix: what a rule that must see all of them works on.

/// One row a client.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Contributions {
    n_params: usize,
    clients: Vec<u32>,
    weights: Vec<f64>,
    values: Vec<f32>,
}

impl Contributions {
    pub const fn new(n_params: usize) -> Self {
        Self { n_params, clients: Vec::new(), weights: Vec::new(), values: Vec::new() }
    }

    /// Steps of clients 0, 1, ..., all of weight 1.
    pub fn of_rows<R: AsRef<[f32]>>(rows: &[R]) -> Self {
        let mut contributions = Self::new(rows.first().map_or(0, |row| row.as_ref().len()));
        (0..).zip(rows).for_each(|(client, row)| contributions.push(client, 1.0, row.as_ref()));
        contributions
    }

    /// Forgets all rows and keeps their memory.
    pub fn clear(&mut self) {
        self.clients.clear();
        self.weights.clear();
        self.values.clear();
    }

    /// Forgets all rows, for a model of so many parameters, and keeps their memory.
    pub(super) fn begin(&mut self, n_params: usize) {
        self.clear();
        self.n_params = n_params;
    }

    pub fn push(&mut self, client: u32, weight: f64, delta: &[f32]) {
        assert_eq!(delta.len(), self.n_params, "a contribution must be as long as the model");
        self.clients.push(client);
        self.weights.push(weight);
        self.values.extend_from_slice(delta);
    }

    pub const fn len(&self) -> usize {
        self.clients.len()
    }

    pub const fn is_empty(&self) -> bool {
        self.clients.is_empty()
    }

    pub const fn n_params(&self) -> usize {
        self.n_params
    }

    pub fn clients(&self) -> &[u32] {
        &self.clients
    }

    /// Reported interactions or 1, by row.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    pub fn values(&self) -> &[f32] {
        &self.values
    }

    pub fn values_mut(&mut self) -> &mut [f32] {
        &mut self.values
    }

    pub fn rows(&self) -> std::slice::ChunksExact<'_, f32> {
        self.values.chunks_exact(self.n_params.max(1))
    }

    /// Client, weight and step, by row.
    pub fn iter(&self) -> impl Iterator<Item = (u32, f64, &[f32])> {
        let heads = self.clients.iter().copied().zip(self.weights.iter().copied());
        heads.zip(self.rows()).map(|((client, weight), row)| (client, weight, row))
    }

    pub fn row(&self, row: usize) -> &[f32] {
        &self.values[row * self.n_params..][..self.n_params]
    }

    pub fn row_mut(&mut self, row: usize) -> &mut [f32] {
        &mut self.values[row * self.n_params..][..self.n_params]
    }

    /// Puts the rows into the order of their clients, whatever the order in which they came.
    pub fn sort(&mut self) {
        if self.clients.is_sorted() {
            return;
        }
        let mut order: Vec<usize> = (0..self.len()).collect();
        order.sort_by_key(|&row| self.clients[row]);
        let mut sorted = Self::new(self.n_params);
        for row in order {
            sorted.push(self.clients[row], self.weights[row], self.row(row));
        }
        *self = sorted;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_sorted_by_client() {
        let mut contributions = Contributions::new(2);
        for client in [5_u8, 0, 3] {
            contributions.push(client.into(), client.into(), &[client.into(), 1.0]);
        }
        contributions.sort();
        assert_eq!((contributions.clients(), contributions.weights()), (&[0, 3, 5][..], &[0.0, 3.0, 5.0][..]));
        assert_eq!(contributions.rows().map(|row| row[0]).collect::<Vec<_>>(), [0.0, 3.0, 5.0]);
        contributions.clear();
        assert!(contributions.is_empty());
    }
}
