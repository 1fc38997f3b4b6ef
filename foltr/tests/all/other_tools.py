"""Measures run files with pytrec_eval and ir-measures; one JSON document in, one out. Used by other_tools.rs."""

import json
import sys

import ir_measures
import pytrec_eval

# Every digit of trec_eval's own numbers: ours is the cut-off, theirs the name.
TREC_EVAL = {"ndcg_cut.10", "map", "recip_rank", "P.10", "recall.10", "bpref"}


def nested(rows, value):
    table = {}
    for row in rows:
        table.setdefault(row.query_id, {})[row.doc_id] = getattr(row, value)
    return table


def by_trec_eval(qrels, run):
    scores = pytrec_eval.RelevanceEvaluator(nested(qrels, "relevance"), TREC_EVAL).evaluate(nested(run, "score"))
    return scores


def by_ir_measures(names, qrels, run):
    measures = [ir_measures.parse_measure(name) for name in names]
    result = {}
    for name, measure in zip(names, measures):
        queries = {metric.query_id: metric.value for metric in ir_measures.iter_calc([measure], qrels, run)}
        mean = ir_measures.calc_aggregate([measure], qrels, run)[measure]
        result[name] = {"name": str(measure), "queries": queries, "mean": mean}
    return result


def is_available(name):
    measure = ir_measures.parse_measure(name)
    return any(it.is_available() and it.supports(measure) for it in ir_measures.providers.registry.values())


answers = []
for job in json.load(sys.stdin):
    labels = list(ir_measures.read_trec_qrels(job["labels"]))
    named_labels = list(ir_measures.read_trec_qrels(job["named_labels"]))
    gains = list(ir_measures.read_trec_qrels(job["gains"]))
    run = list(ir_measures.read_trec_run(job["run"]))
    without_ties = list(ir_measures.read_trec_run(job["run_without_ties"]))
    names = [name for name in job["names"] if is_available(name)]
    answers.append(
        {
            "trec_eval": by_trec_eval(labels, run),
            "trec_eval_gains": by_trec_eval(gains, run),
            "ir_measures": by_ir_measures(names, named_labels, without_ties),
            "ir_measures_with_ties": by_ir_measures(["nDCG@10", "P@10", "AP", "RR@10", job["by_gains"]], labels, run),
        }
    )
json.dump(answers, sys.stdout)
