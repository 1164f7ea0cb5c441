package megatron

import (
	"fmt"

	"github.com/ndc-dev/ndc/backends/capability"
	"github.com/ndc-dev/ndc/backends/render"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
)

// checkData reports what Megatron-LM cannot read or mask.
func checkData(v *version, j *job.Job, diags *diag.List) {
	d := &j.Training.Data
	refuse := func(path, why string) {
		diags.Error(UnsupportedData, j.Sources.Range("training.data."+path), "Megatron-LM cannot read this data", why)
	}
	if !d.Mock && d.Format != "megatron" {
		refuse("format", fmt.Sprintf("Megatron-LM reads .bin and .idx files only, not format = %q. Convert the text once with its tools/preprocess_data.py (--input FILE.jsonl --output-prefix PREFIX --tokenizer-type HuggingFaceTokenizer --tokenizer-model PATH --append-eod) and set format = \"megatron\" with the prefixes. %s", d.Format, capability.Offers("training.data.format=jsonl", "training.data.format=tokens")))
	}
	if v := d.Validation; !d.Mock && v != nil && v.Path != "" && leavesOut(d.Split) {
		refuse("split", "Beside a path for validation Megatron-LM trains on the whole of the sources (--train-data-path and --valid-data-path) and cannot leave a share of them out. Remove split, or the path of the validation block.")
	}
	if f := capability.Feature("training.data.document_mask"); d.DocumentMask && !v.has(f) {
		refuse("document_mask", fmt.Sprintf("%s builds document masks that its Transformer Engine attention ignores, so tokens would see other documents. %s", v.name, capability.Offers(f)))
	}
	if d.ResetPositionIDs && !d.DocumentMask && j.Model.PositionEmbedding.Kind != "learned" {
		refuse("reset_position_ids", "Megatron-LM's rope counts from the start of the sequence whatever the position ids say. Set document_mask = true (core_v0.19.0), which restarts it with each document, or leave it out.")
	}
	if d.Tokenizer.EndOfDocumentID.Set && d.Tokenizer.Kind != "none" && d.Tokenizer.Kind != "" {
		refuse("tokenizer.end_of_document_id", "Megatron-LM takes the id that ends a document from the tokenizer and has no option for it. "+capability.Alternatives("training.data.tokenizer.end_of_document_id")+" For a job with several backends, write end_of_document_id into the block of the one that has it, backend \"…\" { training { data { tokenizer … } } }.")
	}
	if id := d.Tokenizer.EndOfDocumentID; id.Set && d.Tokenizer.Kind == "none" && !v.options.Has("--null-tokenizer-eod-id") && id.Value != j.Model.VocabSize-1 {
		refuse("tokenizer", fmt.Sprintf("Without a tokenizer %s ends documents with the last id of the vocabulary, %d, not %d. %s", v.name, j.Model.VocabSize-1, id.Value, sinceSentence("--null-tokenizer-eod-id", "")))
	}
}

// leavesOut reports whether shares for training, validation and test leave anything
// out of training.
func leavesOut(split string) bool {
	shares, _ := job.Shares(split)
	return shares[1]+shares[2] > 0
}

// data adds the blend and the tokenizer.
func (a *arguments) data() {
	d := &a.j.Training.Data
	switch {
	case d.Mock:
		a.add(a.from("training.data.mock"), "--mock-data")
	case d.Validation != nil && d.Validation.Path != "":
		a.blend("--train-data-path")
		a.words(a.from("training.data.validation.path"), "--valid-data-path", []string{d.Validation.Path}, []render.Word{render.ExpandingPath(d.Validation.Path)})
	default:
		a.blend("--data-path")
	}
	if d.Mock || d.Validation == nil || d.Validation.Path == "" {
		a.split(d)
	}
	if d.CachePath != "" {
		a.path(a.from("training.data.cache_path"), "--data-cache-path", d.CachePath)
	} else if !d.Mock {
		a.own("ndc: indices go beside the scripts, the data may be read-only", "--data-cache-path", `"$NDC_JOB_DIR/data-cache"`)
	}
	a.tokenizer(&d.Tokenizer)
	a.integer(a.from("training.data.workers"), "--num-workers", d.Workers)
	a.flag("ndc: a read that fails is tried again; a page that cannot be had kills the rank", "--no-mmap-bin-files", !d.Mock)
	a.add("ndc: each sequence is read once", "--dataloader-type", "single")
	a.flag(a.from("training.data.reset_position_ids"), "--reset-position-ids", d.ResetPositionIDs && a.j.Model.PositionEmbedding.Kind == "learned")
	a.flag(a.from("training.data.document_mask"), "--dataloader-inter-document-masking", d.DocumentMask)
	a.add("ndc: the kernels know the causal mask", "--no-create-attention-mask-in-dataloader")
}

// blend adds the sources as pairs of weight and prefix.
func (a *arguments) blend(option string) {
	var texts []string
	var words []render.Word
	for _, s := range a.j.Training.Data.Sources {
		weight := render.Number(s.Weight)
		texts = append(texts, weight, s.Path)
		words = append(words, render.Literal(weight), render.ExpandingPath(s.Path))
	}
	a.words(a.from("training.data"), option, texts, words)
}

// split says which part of the data is kept for validation: none unless asked.
func (a *arguments) split(d *job.Data) {
	switch {
	case d.Split != "":
		a.add(a.from("training.data.split"), "--split", d.Split)
	case d.Validation != nil:
		a.add("ndc: a hundredth is kept for validation", "--split", "99,1,0")
	default:
		a.add("ndc: all of it trains", "--split", "100,0,0")
	}
}

// tokenizer adds the tokenizer. Without one, ids come from the data as they
// are; before core_v0.18.0 that adds an end-of-document id of its own, so one
// less is asked for. A tiktoken vocabulary is cut to its size, and has to have as
// many ids; without one Megatron-LM wants 131,072.
func (a *arguments) tokenizer(t *job.Tokenizer) {
	from := a.from("training.data.tokenizer")
	kind := map[string]string{"huggingface": "HuggingFaceTokenizer", "sentencepiece": "GPTSentencePieceTokenizer", "tiktoken": "TikTokenizer"}[t.Kind]
	if kind != "" {
		a.add(from, "--tokenizer-type", kind)
		a.path(from+".path", "--tokenizer-model", t.Path)
		if t.Kind == "tiktoken" {
			a.add("ndc: the pattern of current vocabularies", "--tiktoken-pattern", "v2")
			a.integer(a.from("model.vocab_size"), "--vocab-size", a.j.Model.VocabSize)
		}
		return
	}
	a.add(from, "--tokenizer-type", "NullTokenizer")
	if !a.v.options.Has("--null-tokenizer-eod-id") {
		a.integer("ndc: the release adds an id that ends documents", "--vocab-size", a.j.Model.VocabSize-1)
		return
	}
	a.integer(a.from("model.vocab_size"), "--vocab-size", a.j.Model.VocabSize)
	a.integer(from+".end_of_document_id", "--null-tokenizer-eod-id", t.EndOfDocumentID.Or(a.j.Model.VocabSize-1))
}

// validation adds how often and how long to validate; releases from 0.16 on
// fail without an interval even when they never validate.
func (a *arguments) validation() {
	v := a.j.Training.Data.Validation
	if v == nil {
		a.integer("ndc: no validation", "--eval-iters", 0)
		a.integer("ndc: unused, but without one the release stops", "--eval-interval", 1000)
		return
	}
	if a.j.Training.BatchRamp != nil && a.v.listsBatches() {
		a.integer("ndc: the release would validate with one micro-batch of each replica", "--eval-global-batch-size", a.j.Training.GlobalBatchSize)
	}
	a.integer(a.from("training.data.validation.steps"), "--eval-iters", v.Steps)
	a.integer(a.from("training.data.validation.interval"), "--eval-interval", v.Interval)
}
