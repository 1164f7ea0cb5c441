package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/ndc-dev/ndc/compiler/option"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/plan/file"
	"github.com/ndc-dev/ndc/output"
)

const schemaFile = "../../docs/plan.schema.json"

var planSchema = sync.OnceValue(func() *jsonschema.Schema {
	return jsonschema.NewCompiler().MustCompile(schemaFile)
})

// jobSchema is generated from the types, see tools/docs.
var jobSchema = sync.OnceValue(func() *jsonschema.Schema {
	return jsonschema.NewCompiler().MustCompile("../../docs/job.schema.json")
})

// checkFiles holds every plan.json of a tree to the schema, to the sums that
// the contract promises and to the files beside it.
func checkFiles(tree map[string]string) error {
	var problems []error
	plans := 0
	for _, name := range keys(tree) {
		if path.Base(name) == output.JobManifest {
			if err := checkAgainst(jobSchema(), []byte(tree[name])); err != nil {
				problems = append(problems, fmt.Errorf("%s: %w", name, err))
			}
		}
		if path.Base(name) != planName {
			continue
		}
		plans++
		problems = append(problems, checkFile(tree, name))
	}
	if plans == 0 {
		problems = append(problems, errors.New("no "+planName))
	}
	return errors.Join(problems...)
}

func checkFile(tree map[string]string, name string) error {
	content := []byte(tree[name])
	if err := checkSchema(content); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	var f file.File
	if err := json.Unmarshal(content, &f); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	problems := invariants(f.Decision())
	beside := map[string]bool{}
	for _, a := range f.Artifacts {
		full := path.Join(path.Dir(name), a.Path)
		beside[full] = true
		written := []byte(tree[full])
		if a.Path == planName {
			written = output.WithoutOwnHash(written, a.SHA256)
		}
		if output.Hash(written) != a.SHA256 {
			problems = append(problems, "the hash of "+a.Path+" is not that of the file")
		}
	}
	for _, other := range keys(tree) {
		if strings.HasPrefix(other, path.Dir(name)+"/") && !beside[other] {
			problems = append(problems, other+" is not among the artifacts")
		}
	}
	return problem(name, problems)
}

func problem(name string, problems []string) error {
	if len(problems) == 0 {
		return nil
	}
	return fmt.Errorf("%s: %s", name, strings.Join(problems, "; "))
}

// checkDocuments does the same for what --json prints.
func checkDocuments(stream []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(stream))
	for n := 0; ; n++ {
		var raw json.RawMessage
		if err := decoder.Decode(&raw); errors.Is(err, io.EOF) && n > 0 {
			return nil
		} else if err != nil {
			return err
		}
		if err := checkSchema(raw); err != nil {
			return err
		}
		var d file.Document
		if err := json.Unmarshal(raw, &d); err != nil {
			return err
		}
		for i := range d.Plans {
			if err := problem(d.Plans[i].Backend, invariants(d.Plans[i].Decision())); err != nil {
				return err
			}
		}
	}
}

func checkSchema(content []byte) error { return checkAgainst(planSchema(), content) }

func checkAgainst(s *jsonschema.Schema, content []byte) error {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(content))
	if err != nil {
		return err
	}
	return s.Validate(value)
}

// invariants are the sums that hold in every plan.
func invariants(p *plan.Plan) []string {
	var broken []string
	hold := func(ok bool, format string, args ...any) {
		if !ok {
			broken = append(broken, fmt.Sprintf(format, args...))
		}
	}
	s := &p.Search
	found := s.Evaluated + s.Pruned
	for _, r := range s.Rejected {
		found += r.Count
	}
	hold(s.Enumerated == found, "enumerated %d, accounted for %d", s.Enumerated, found)
	hold(p.Feasible == (p.Infeasible == nil), "feasible %v, infeasible %v", p.Feasible, p.Infeasible != nil)
	l := &p.Layout
	if !p.Feasible && len(p.Memory.Stages) == 0 {
		return broken // no layout was legal, so none was evaluated
	}
	hold(l.MicroBatchSize*l.MicroBatches*l.DataParallel() == p.Input.GlobalBatchSize, "micro-batches make %d sequences of %d", l.MicroBatchSize*l.MicroBatches*l.DataParallel(), p.Input.GlobalBatchSize)
	hold(l.GPUs() == p.Input.GPUs, "the layout has %d ranks of %d", l.GPUs(), p.Input.GPUs)
	hold(len(l.StageLayers) == l.Chunks(), "%d entries of stage_layers for %d chunks", len(l.StageLayers), l.Chunks())
	hold(len(p.Memory.Stages) == l.PipelineParallel, "memory of %d stages of %d", len(p.Memory.Stages), l.PipelineParallel)
	for i := range p.Memory.Stages {
		s := &p.Memory.Stages[i]
		hold(ledgerSum(s.Ledger) == int64(s.AllocatedBytes), "stage %d: the ledger sums to %d of %d", s.Stage, ledgerSum(s.Ledger), s.AllocatedBytes)
		hold(s.AllocatedBytes <= s.ReservedBytes && s.ReservedBytes <= s.DeviceBytes, "stage %d: allocated, reserved and device bytes are out of order", s.Stage)
		hold(s.DeviceBytes <= p.Memory.Peak.DeviceBytes, "stage %d needs more than the peak", s.Stage)
	}
	hold(!p.Feasible || p.Memory.Peak.DeviceBytes <= p.Memory.UsableBytes, "feasible with %v of %v usable", p.Memory.Peak.DeviceBytes, p.Memory.UsableBytes)
	hold(ledgerSum(p.Memory.Host.Ledger) == int64(p.Memory.Host.BytesPerNode), "the host ledger sums to %d of %d", ledgerSum(p.Memory.Host.Ledger), p.Memory.Host.BytesPerNode)
	hold(near(breakdownSum(p), float64(p.Time.StepSeconds)), "the breakdown sums to %v of %v", breakdownSum(p), p.Time.StepSeconds)
	tokens := float64(p.Input.GlobalBatchSize*p.Input.SequenceLength) / float64(p.Input.GPUs)
	perSecond := tokens / float64(p.Time.StepSeconds)
	hold(math.Abs(p.Throughput.TokensPerSecondPerGPU-perSecond) <= 1e-8*perSecond, "throughput and step time differ") // of nine digits each
	return broken
}

func ledgerSum(lines []plan.LedgerLine) (sum int64) {
	for _, l := range lines {
		sum += int64(l.Bytes)
	}
	return sum
}

func breakdownSum(p *plan.Plan) (sum float64) {
	for _, l := range p.Time.Breakdown {
		sum += float64(l.Seconds)
	}
	return sum
}

// near allows for the rounding of a sum of doubles.
func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Max(math.Abs(a), math.Abs(b)) }

// TestSchemaHasEveryField compares the published schema with the types, both
// ways, so that neither gains a field alone.
func TestSchemaHasEveryField(t *testing.T) {
	var root map[string]any
	content, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(content, &root); err != nil {
		t.Fatal(err)
	}
	s := schemaWalk{t: t, defs: root["$defs"].(map[string]any), seen: map[string]bool{}}
	s.compare("document", reflect.TypeFor[file.Document]())
	s.compare("file", reflect.TypeFor[file.File]())
	for name := range s.defs {
		if !s.seen[name] {
			t.Errorf("the schema defines %q, which no plan uses", name)
		}
	}
}

// TestSchemaRefuses shows that the schema can say no.
func TestSchemaRefuses(t *testing.T) {
	for _, text := range []string{`{}`, `{"format_version":"1.0"}`, `{"format_version":"1.0","ndc_version":"1","job":"j","plans":[{}]}`, `[]`} {
		if checkSchema([]byte(text)) == nil {
			t.Errorf("the schema accepts %s", text)
		}
	}
	const job = `{"format_version":"1.0","ndc_version":"1","job":"j","values":[VALUE],"backends":{"megatron":[]},"artifacts":[]}`
	for value, ok := range map[string]bool{
		`{"path":"training.steps","value":1,"origin":"spec:job.hcl:3"}`: true, `{"path":"slurm.directives[\"comment\"]","value":"x","origin":"default:"}`: true,
		`{"path":"training.steps","value":1}`: false, `{"path":"training.steps","value":1,"origin":"somebody"}`: false, `{"path":"","value":1,"origin":"default:"}`: false, `1`: false,
	} {
		if err := checkAgainst(jobSchema(), []byte(strings.Replace(job, "VALUE", value, 1))); (err == nil) != ok {
			t.Errorf("%s: %v", value, err)
		}
	}
}

type schemaWalk struct {
	t    *testing.T
	defs map[string]any
	seen map[string]bool
}

// compare holds one definition to a struct.
func (s *schemaWalk) compare(name string, typ reflect.Type) {
	if s.seen[name] {
		return
	}
	s.seen[name] = true
	def, ok := s.defs[name].(map[string]any)
	if !ok {
		s.t.Errorf("the schema does not define %q", name)
		return
	}
	properties := s.properties(def)
	for _, m := range members(typ) {
		p, ok := properties[m.name].(map[string]any)
		if !ok {
			s.t.Errorf("%s.%s is not in the schema", name, m.name)
			continue
		}
		delete(properties, m.name)
		if required := slices.Contains(s.required(def), m.name); required == m.optional {
			s.t.Errorf("%s.%s: required in the schema: %v", name, m.name, required)
		}
		s.value(name+"."+m.name, p, m.typ)
	}
	for _, field := range keys(properties) {
		s.t.Errorf("%s.%s is in the schema and not in the type", name, field)
	}
}

// member is one of a JSON object.
type member struct {
	name     string
	optional bool
	typ      reflect.Type
}

// members lists what a type of package file writes: layouts and executions by
// their rows, other structs by their tags.
func members(typ reflect.Type) (list []member) {
	switch typ {
	case reflect.TypeFor[file.Layout]():
		for i := range option.Axes {
			list = append(list, member{option.Axes[i].JSON(), false, reflect.TypeOf(option.Axes[i].Value(&plan.Layout{})).Elem()})
		}
		return list
	case reflect.TypeFor[file.Execution]():
		for i := range option.Options {
			list = append(list, member{option.Options[i].JSON(), false, reflect.TypeOf(option.Options[i].Value(&plan.Execution{})).Elem()})
		}
		return list
	}
	for _, f := range reflect.VisibleFields(typ) {
		if name, options, _ := strings.Cut(f.Tag.Get("json"), ","); !f.Anonymous {
			list = append(list, member{name, options != "", f.Type})
		}
	}
	return list
}

// properties and required also look into the definition that one extends.
func (s *schemaWalk) properties(def map[string]any) map[string]any {
	all := map[string]any{}
	for name, p := range def["properties"].(map[string]any) {
		all[name] = p
	}
	if base := s.reference(def); base != "" {
		s.seen[base] = true
		for name, p := range s.properties(s.defs[base].(map[string]any)) {
			all[name] = p
		}
	}
	return all
}

func (s *schemaWalk) required(def map[string]any) (names []string) {
	for _, r := range def["required"].([]any) {
		names = append(names, r.(string))
	}
	if base := s.reference(def); base != "" {
		names = append(names, s.required(s.defs[base].(map[string]any))...)
	}
	return names
}

// reference is the definition that a schema refers to.
func (s *schemaWalk) reference(schema map[string]any) string {
	text, _ := schema["$ref"].(string)
	return strings.TrimPrefix(text, "#/$defs/")
}

// value follows a field's schema down to the next definition.
func (s *schemaWalk) value(at string, schema map[string]any, typ reflect.Type) {
	switch {
	case typ == reflect.TypeFor[plan.Modules]():
		s.value(at, schema, reflect.TypeFor[[]string]())
	case typ.Kind() == reflect.Pointer:
		if options, ok := schema["anyOf"].([]any); ok {
			schema = options[0].(map[string]any)
		}
		s.value(at, schema, typ.Elem())
	case typ.Kind() == reflect.Slice || typ.Kind() == reflect.Array:
		items, ok := schema["items"].(map[string]any)
		if !ok || schema["type"] != "array" {
			s.t.Errorf("%s is an array of %s", at, typ.Elem())
			return
		}
		s.value(at+"[]", items, typ.Elem())
	case typ.Kind() == reflect.Struct:
		if s.reference(schema) == "" {
			s.t.Errorf("%s refers to no definition", at)
			return
		}
		s.compare(s.reference(schema), typ)
	default:
		s.scalar(at, schema, typ)
	}
}

// scalar compares the type of a plain value; names such as schedules are
// text.
func (s *schemaWalk) scalar(at string, schema map[string]any, typ reflect.Type) {
	if base := s.reference(schema); base != "" {
		s.seen[base] = true
		schema = s.defs[base].(map[string]any)
	}
	want := map[reflect.Kind]string{
		reflect.String: "string", reflect.Bool: "boolean", reflect.Int: "integer", reflect.Int64: "integer",
		reflect.Float64: "number", reflect.Uint8: "string",
	}[typ.Kind()]
	if schema["type"] != want {
		s.t.Errorf("%s has the type %v in the schema, want %q", at, schema["type"], want)
	}
	if schema["description"] == nil && schema["enum"] == nil {
		s.t.Errorf("%s has no description", at)
	}
}
