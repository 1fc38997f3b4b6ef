"""The Rank model in PyTorch: how many pairs a second does it learn from?

pytorch.py teacher|student|interaction THREADS SECONDS [VARIANT] prints pairs a second, pairs a second of processor time and peak
memory in MiB. Texts have the sizes of `examples/throughput.rs`, and the networks are the same: weighted sums of
embeddings with learned weights, ReLU layers with dropout, tanh, hinge loss, Adam. Variants differ in how embeddings are
summed and updated:

bag-dense    EmbeddingBag with weights, gradients of the whole vocabulary, Adam on all rows
bag-sparse   EmbeddingBag with weights, sparse gradients, SparseAdam
matrix       the texts as a sparse matrix (texts x terms, counts) times the weighted embeddings, Adam on all rows

The first layer sees a query once a pair. With `+distinct` behind the name it sees every text of the batch once, however
many pairs share it, as ours does.

`interaction` is the student with kernels over the cosines of the terms of query and document (frozen embeddings):

batch        cosines and kernels of every pair of the batch, in each step
table        a step looks them up in a table of all queries and documents (random numbers: they cost the same)
"""

import resource
import sys
import time
import warnings

import numpy as np
import torch
from torch import nn

N_TERMS, N_QUERIES, N_DOCUMENTS = 6_000, 225, 1_400
QUERY_TERMS, DOCUMENT_TERMS = 9, 90
BATCH, LEARNING_RATE = 512, 1e-3
SHAPES = {"teacher": (500, 512, 0.2), "student": (300, 128, 0.1), "interaction": (300, 128, 0.1)}
DEFAULTS = {"teacher": "bag-dense", "student": "bag-dense", "interaction": "batch"}


def make_texts(random, n_texts, n_terms):
    """Different terms; low numbers are frequent, as in real texts."""
    texts = np.empty((n_texts, n_terms), dtype=np.int64)
    for text in texts:
        terms = set()
        while len(terms) < n_terms:
            terms.add(int(N_TERMS ** random.random()) - 1)
        text[:] = sorted(terms)
    return torch.from_numpy(texts)


class Rank(nn.Module):
    def __init__(self, n_dimensions, n_units, dropout, variant):
        super().__init__()
        self.variant, _, distinct = variant.partition("+")
        self.distinct = distinct == "distinct"
        sparse = self.variant == "bag-sparse"
        self.embeddings = nn.EmbeddingBag(N_TERMS, n_dimensions, mode="sum", sparse=sparse)
        self.weights = nn.Embedding(N_TERMS, 1, sparse=sparse)
        nn.init.normal_(self.embeddings.weight, std=n_dimensions**-0.5)
        nn.init.ones_(self.weights.weight)
        self.query = nn.Linear(n_dimensions, n_units, bias=False)
        self.document = nn.Linear(n_dimensions, n_units)
        layers = [nn.ReLU(), nn.Dropout(dropout)]
        for _ in range(2):
            layers += [nn.Linear(n_units, n_units), nn.ReLU(), nn.Dropout(dropout)]
        self.rest = nn.Sequential(*layers, nn.Linear(n_units, 1), nn.Tanh())

    def compose(self, texts):
        """All texts of one kind have as many terms: the kindest case for a bag."""
        if self.variant == "matrix":
            n_texts, n_terms = texts.shape
            starts = torch.arange(0, n_texts * n_terms + 1, n_terms)
            counts = torch.sparse_csr_tensor(starts, texts.reshape(-1), torch.ones(texts.numel()), (n_texts, N_TERMS))
            return counts @ (self.embeddings.weight * self.weights.weight)
        weights = self.weights(texts).squeeze(-1)
        return self.embeddings(texts, per_sample_weights=weights)

    def first(self, layer, texts, numbers):
        """What the texts of these numbers give the first layer."""
        if not self.distinct:
            return layer(self.compose(texts[numbers]))
        different, places = torch.unique(numbers, return_inverse=True)
        return layer(self.compose(texts[different])).index_select(0, places)

    def forward(self, queries, documents, query, better, worse):
        from_query = self.first(self.query, queries, query)
        from_documents = self.first(self.document, documents, torch.cat([better, worse]))
        return self.rest(from_documents + torch.cat([from_query, from_query])).view(2, -1)


def layers(n_inputs, n_units, dropout):
    sizes = [n_inputs] + 3 * [n_units]
    for n_in, n_out in zip(sizes, sizes[1:]):
        yield from (nn.Linear(n_in, n_out), nn.ReLU(), nn.Dropout(dropout))
    yield from (nn.Linear(n_units, 1), nn.Tanh())


class Interaction(nn.Module):
    """Kernel pooling: ten soft kernels and exact matches, plain and by length, summed with learned term weights."""

    def __init__(self, n_dimensions, n_units, dropout, variant):
        super().__init__()
        embeddings = torch.randn(N_TERMS, n_dimensions)
        self.embeddings = nn.functional.normalize(embeddings)
        self.means = 0.9 - 0.2 * torch.arange(10)
        self.weights = nn.Embedding(N_TERMS, 1)
        nn.init.ones_(self.weights.weight)
        self.layers = nn.Sequential(*layers(22, n_units, dropout))
        # Of all queries and documents. Speed does not depend on the numbers.
        self.table = torch.rand(N_QUERIES, N_DOCUMENTS, QUERY_TERMS, 22) if variant == "table" else None

    def meet(self, queries, documents):
        cosines = self.embeddings[queries] @ self.embeddings[documents].transpose(1, 2)
        soft = [torch.exp((cosines - mean) ** 2 * -50.0).sum(2) for mean in self.means]
        exact = (queries[:, :, None] == documents[:, None, :]).float().sum(2)
        frequencies = torch.stack(soft + [exact], 2)
        # Documents here are all as long as usual.
        return torch.log1p(torch.cat([frequencies, frequencies * (DOCUMENT_TERMS / documents.shape[1])], 2))

    def forward(self, queries, documents, query, better, worse):
        query, document = torch.cat([query, query]), torch.cat([better, worse])
        if self.table is None:
            rows = self.meet(queries[query], documents[document])
        else:
            rows = self.table[query, document]
        return self.layers((self.weights(queries[query]) * rows).sum(1)).view(2, -1)


def main():
    name, n_threads, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    variant = sys.argv[4] if len(sys.argv) > 4 else DEFAULTS[name]
    torch.set_num_threads(n_threads)
    warnings.filterwarnings("ignore", message="Sparse")
    torch.manual_seed(1)
    random = np.random.default_rng(1)
    queries = make_texts(random, N_QUERIES, QUERY_TERMS)
    documents = make_texts(random, N_DOCUMENTS, DOCUMENT_TERMS)
    if name == "interaction":
        model = Interaction(*SHAPES[name], variant)
        terms = [model.weights.weight]
    else:
        model = Rank(*SHAPES[name], variant)
        terms = [model.embeddings.weight, model.weights.weight]
    others = [param for param in model.parameters() if all(param is not term for term in terms)]
    if variant.startswith("bag-sparse"):
        optimisers = [
            torch.optim.SparseAdam(terms, lr=LEARNING_RATE),
            torch.optim.Adam(others, lr=LEARNING_RATE, fused=True),
        ]
    else:
        optimisers = [torch.optim.Adam(terms + others, lr=LEARNING_RATE, fused=True)]

    def step():
        query = torch.randint(N_QUERIES, (BATCH,))
        better, worse = torch.randint(N_DOCUMENTS, (2, BATCH))
        scores = model(queries, documents, query, better, worse)
        loss = torch.clamp(1.0 - (scores[0] - scores[1]), min=0.0).mean()
        for optimiser in optimisers:
            optimiser.zero_grad(set_to_none=True)
        loss.backward()
        for optimiser in optimisers:
            optimiser.step()

    for _ in range(3):
        step()
    start, used, n_steps = time.perf_counter(), time.process_time(), 0
    while time.perf_counter() - start < seconds:
        step()
        n_steps += 1
    n_pairs = n_steps * BATCH
    rates = [n_pairs / (time.perf_counter() - start), n_pairs / (time.process_time() - used)]
    print(f"{rates[0]:.0f} {rates[1]:.0f} {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024}")


if __name__ == "__main__":
    main()
