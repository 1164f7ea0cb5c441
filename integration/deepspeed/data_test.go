//go:build conformance

package deepspeed

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ndc-dev/ndc/lang/job"
)

// TestData reads every format on one rank and on two: the losses agree, so
// every sequence is read once and the layout does not matter; with a document
// mask, two kernels agree.
func TestData(t *testing.T) {
	each(t, func(t *testing.T, version, python string) {
		root := t.TempDir()
		all := legal(t, version, dataTrials(root, writeText(t, root), writeIndexed(t, root), writeTokens(t, root)))
		for _, c := range all {
			write(t, filepath.Join(root, "cases"), version, c)
		}
		results := run(t, python, filepath.Join(root, "cases"))
		judge(t, version, all, results)
		for _, c := range all {
			if strings.HasPrefix(c.name, "megatron") && len(results[c.name].Validation) != 2 {
				t.Errorf("%s: validated %d times", c.name, len(results[c.name].Validation))
			}
		}
		plain, masked := column(results["megatron-ref"], 1), column(results["megatron-masked"], 1)
		if distance(plain, masked) < 1e-4 {
			t.Error("a document mask changes nothing")
		}
	})
}

// TestUnits: the parts of the emitted program do what their own checks in unit.py say.
func TestUnits(t *testing.T) {
	row(t, "0.19.8").Count(t)
	command(t, environment(t, "0.19.8"), "unit.py", "../../backends/deepspeed/templates")
}

// TestLeave ends ranks of the emitted program while threads of gloo's still
// hold what it moved last.
func TestLeave(t *testing.T) {
	row(t, "0.19.8").Count(t)
	command(t, environment(t, "0.19.8"), "leave.py", "../../backends/deepspeed/templates", "8")
}

func dataTrials(root, text, indexed, tokens string) []trial {
	megatron := func(j *job.Job) {
		j.Training.Data = job.Data{Format: "megatron", Split: "8,2,0", Workers: 2,
			Sources:    []job.DataSource{{Name: "a", Path: indexed + "-0", Weight: 0.75}, {Name: "b", Path: indexed + "-1", Weight: 0.25}},
			Validation: &job.Validation{Interval: 2, Steps: 3},
			Tokenizer:  job.Tokenizer{Kind: "none", EndOfDocumentID: job.Some(0)}}
	}
	masked := func(j *job.Job) {
		megatron(j)
		j.Training.Data.DocumentMask, j.Training.Data.ResetPositionIDs = true, true
	}
	eager := func(j *job.Job) {
		masked(j)
		j.Execution.Attention = job.Some("unfused")
	}
	flat := func(j *job.Job) {
		j.Training.Data = job.Data{Format: "tokens", Sources: []job.DataSource{{Name: "a", Path: tokens, Weight: 1}}, Tokenizer: job.Tokenizer{Kind: "none"}}
	}
	one := filepath.Join(root, "one.bin") // one global batch in all: its losses tell whether updates are the same
	again := func(j *job.Job) {
		flat(j)
		j.Training.Data.Sources[0].Path, j.Training.Precision = one, "bf16"
		j.Constraints.Layout.ZeroStage = job.IntChoice{Values: []int{0}} // asked for
	}
	lines := func(j *job.Job) { jsonl(j, text) }
	return []trial{
		{name: "megatron-ref", ranks: 1, layout: zero(1), change: megatron},
		{name: "megatron-w2", ranks: 2, layout: zero(3), change: megatron, same: "megatron-ref", tolerance: exact},
		{name: "megatron-masked", ranks: 1, layout: zero(1), change: masked},
		{name: "megatron-masked-eager", ranks: 2, layout: zero(3), change: eager, same: "megatron-masked", tolerance: exact},
		{name: "tokens-ref", ranks: 1, layout: zero(1), change: flat},
		{name: "tokens-w2", ranks: 2, layout: zero(3), change: flat, same: "tokens-ref", tolerance: exact},
		{name: "again-ref", ranks: 1, layout: zero(2), change: again},
		{name: "again-zero0", ranks: 1, layout: zero(0), change: again, same: "again-ref", tolerance: 2e-3},
		{name: "jsonl-ref", ranks: 1, layout: zero(1), change: lines},
		{name: "jsonl-w2", ranks: 2, layout: zero(1), change: lines, same: "jsonl-ref", tolerance: exact},
	}
}

func jsonl(j *job.Job, folder string) {
	j.Training.Data = job.Data{Format: "jsonl", Sources: []job.DataSource{{Name: "a", Path: filepath.Join(folder, "a.jsonl"), Weight: 1}},
		Tokenizer: job.Tokenizer{Kind: "huggingface", Path: filepath.Join(folder, "tokenizer")}}
}

// writeText makes documents of words w1 ... w200 and a tokenizer that knows them.
func writeText(t *testing.T, root string) string {
	t.Helper()
	folder := filepath.Join(root, "text")
	random := rand.New(rand.NewPCG(1, 2))
	vocabulary := map[string]int{"<eod>": 0, "<unk>": 1}
	words := make([]string, 200)
	for i := range words {
		words[i] = "w" + string(rune('a'+i/26)) + string(rune('a'+i%26))
		vocabulary[words[i]] = i + 2
	}
	var b bytes.Buffer
	for range 300 {
		document := make([]string, 1+random.IntN(60))
		for i := range document {
			document[i] = words[random.IntN(len(words))]
		}
		line, _ := json.Marshal(map[string]string{"text": strings.Join(document, " ")})
		b.Write(append(line, '\n'))
	}
	save(t, filepath.Join(folder, "a.jsonl"), b.Bytes())
	tokenizer, _ := json.Marshal(map[string]any{"version": "1.0", "added_tokens": []any{}, "pre_tokenizer": map[string]any{"type": "Whitespace"},
		"model": map[string]any{"type": "WordLevel", "vocab": vocabulary, "unk_token": "<unk>"}})
	save(t, filepath.Join(folder, "tokenizer", "tokenizer.json"), tokenizer)
	save(t, filepath.Join(folder, "tokenizer", "tokenizer_config.json"), []byte(`{"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "<eod>", "unk_token": "<unk>"}`))
	return folder
}

// writeIndexed makes two corpora in Megatron's format, ids of 16 and 32 bits.
func writeIndexed(t *testing.T, root string) string {
	t.Helper()
	prefix := filepath.Join(root, "corpus")
	random := rand.New(rand.NewPCG(3, 4))
	for n, size := range []int{2, 4} {
		var bin, lengths, pointers, starts bytes.Buffer
		offset := int64(0)
		for d := range 200 {
			length := 5 + random.IntN(80)
			for i := range length {
				id := uint32(1 + random.IntN(511))
				if i == length-1 {
					id = 0
				}
				bin.Write(binary.LittleEndian.AppendUint32(nil, id)[:size])
			}
			little(&lengths, int32(length))
			little(&pointers, offset)
			little(&starts, int64(d))
			offset += int64(length * size)
		}
		little(&starts, int64(200))
		index := []byte("MMIDIDX\x00\x00")
		index = binary.LittleEndian.AppendUint64(index, 1)
		index = append(index, map[int]byte{2: 8, 4: 4}[size])
		index = binary.LittleEndian.AppendUint64(index, 200)
		index = binary.LittleEndian.AppendUint64(index, 201)
		name := prefix + []string{"-0", "-1"}[n]
		save(t, name+".bin", bin.Bytes())
		save(t, name+".idx", append(append(append(index, lengths.Bytes()...), pointers.Bytes()...), starts.Bytes()...))
	}
	return prefix
}

func little(b *bytes.Buffer, v any) {
	if err := binary.Write(b, binary.LittleEndian, v); err != nil {
		panic(err)
	}
}

func writeTokens(t *testing.T, root string) string {
	t.Helper()
	random := rand.New(rand.NewPCG(5, 6))
	var b bytes.Buffer
	for range 8000 {
		little(&b, uint16(random.IntN(512)))
	}
	name := filepath.Join(root, "tokens.bin")
	save(t, name, b.Bytes())
	save(t, filepath.Join(root, "one.bin"), b.Bytes()[:2*(8*64+1)])
	return name
}
