package deepspeed

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ndc-dev/ndc/backends"
	"github.com/ndc-dev/ndc/backends/capability"
	"github.com/ndc-dev/ndc/backends/schema"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
)

// version is one supported release of DeepSpeed.
type version struct {
	number
	// torch is the newest release that DeepSpeed's own tests ran on, from
	// ci/torch_latest.py at the tag; it decides the allocator variable.
	torch   string
	options *schema.Table
}

// number is major, minor and patch of a version, of DeepSpeed or of transformers.
type number [3]int

// String returns the number as the package index spells it.
func (v number) String() string { return fmt.Sprintf("%d.%d.%d", v[0], v[1], v[2]) }

// atLeast reports whether v is w or newer.
func (v number) atLeast(w number) bool { return slices.Compare(v[:], w[:]) >= 0 }

// versions lists every release from 0.16.4 to 0.19.8, oldest first.
var versions = load([]series{
	{minor: 16, first: 4, last: 9, torch: "2.6"},
	{minor: 17, first: 0, last: 6, torch: "2.6"},
	{minor: 18, first: 0, last: 4, torch: "2.6"},
	{minor: 18, first: 5, last: 9, torch: "2.9"},
	{minor: 19, first: 0, last: 1, torch: "2.9"},
	{minor: 19, first: 2, last: 8, torch: "2.11"},
})

// series is a run of patch releases without a gap.
type series struct {
	minor, first, last int
	torch              string
}

func load(all []series) []version {
	options := optionTables()
	var list []version
	for _, s := range all {
		for patch := s.first; patch <= s.last; patch++ {
			v := number{0, s.minor, patch}
			list = append(list, version{number: v, torch: s.torch, options: tableFor(v, options)})
		}
	}
	return list
}

// findVersion finds the job's release, or says which one was probably meant.
func findVersion(j *job.Job) (version, diag.List) {
	var diags diag.List
	name := strings.TrimPrefix(j.Backend.Version, "v")
	for _, v := range versions {
		if v.String() == name {
			return v, diags
		}
	}
	names := Backend{}.Versions()
	detail := fmt.Sprintf("ndc emits for DeepSpeed %s to %s; it knows no version %q.", names[0], names[len(names)-1], j.Backend.Version)
	diags.Error(UnknownVersion, j.Sources.Range("backend.version"), "Unknown DeepSpeed version", detail+backends.MeantVersion(name, names))
	return version{}, diags
}

// feature is something that came or went with a release.
type feature struct {
	name   string
	since  number
	before number // first release without it; zero: still there
}

// offered is a feature of the table of capabilities, whose versions it has.
func offered(name string, f capability.Feature) feature {
	first, last := capability.Since("deepspeed", f)
	found := feature{name: name, since: mustNumber(first)}
	if newest := versions[len(versions)-1]; last != newest.String() {
		found.before = mustNumber(last)
		found.before[2]++
	}
	return found
}

// What came with a release and decides legality. The name is DeepSpeed's own.
var (
	// autoTPBias adds a bias to what was reduced without writing into it (PR 7257).
	autoTPBias  = offered("AutoTP with biases", "constraints.layout.tensor_parallel with biases")
	autoTPZero3 = offered("AutoTP with ZeRO stage 3", "constraints.layout.tensor_parallel with zero_stage=3")
	// autoTPNorms sums the gradients of norms of queries and keys, of which every
	// rank has a part; before, ranks drift apart.
	autoTPNorms = offered("AutoTP with norms of queries and keys", "constraints.layout.tensor_parallel with model.qk_norm")
	// ulysses came with 0.17.0; the program drives the interface of 0.18.2 and
	// later, which takes a model that is built already.
	ulysses     = offered("Ulysses for a model that is built already", "constraints.layout.context_parallel")
	autoEP      = offered("AutoEP", "constraints.layout.expert_parallel")
	autoEPZero3 = offered("AutoEP with ZeRO stage 3", "constraints.layout.expert_parallel with zero_stage=3")
	// hpZ reads a second copy of the weights that is stale after they were
	// initialised or loaded, until PR 7707.
	hpZ  = offered("hpZ with weights that are right", "execution.zero_hpz_partition")
	mics = offered("MiCS", "constraints.layout.data_parallel_replicate")
)

// What releases do in a way of their own, by the first tag that contains it
// (deepspeedai/DeepSpeed, git tag --contains) and the first release without.
var (
	// zero2Loses keeps the gradients of the last micro-batch only
	// (stage_1_and_2.independent_gradient_partition_epilogue).
	zero2Loses = feature{name: "ZeRO stage 2 that loses gradients", since: number{0, 17, 6}, before: number{0, 18, 3}}
	// bf16Stage0 trains in bf16 without ZeRO, with bf16 gradients. It exists
	// since 0.17.6, with a gradient norm that is right since 0.18.6 (PR 7839).
	bf16Stage0 = feature{name: "bf16 without ZeRO", since: number{0, 18, 6}}
	// headSplit cuts an output head that is not tied with the layers under AutoTP
	// (PR 8146: it follows transformers' plan for the model's class).
	headSplit = feature{name: "AutoTP of the output head", since: number{0, 19, 4}}
	// bf16AsFP16 takes bf16 with fp32 gradients under stages 0 and 1 for fp16:
	// the names of the two optimizers are the same (DDP_BFLOAT16).
	bf16AsFP16 = feature{name: "bf16 that is taken for fp16", since: number{0, 17, 6}, before: number{0, 18, 5}}
	// returnsFP32 copies parameters that an offloaded optimizer updated to the GPU in
	// fp32 first (stage_1_and_2.step); later ones go through a buffer in the host's memory.
	returnsFP32 = feature{name: "offloaded state that comes back in fp32", since: number{0, 16, 4}, before: number{0, 17, 0}}
	// fp32Stage0 is what bf16 without ZeRO was before: fp32 gradients, and
	// optimizer state that is sharded over data-parallel ranks all the same.
	fp32Stage0 = feature{name: "bf16 without ZeRO on one rank", since: number{0, 16, 4}, before: number{0, 18, 5}}
)

// has reports whether the release has the feature.
func (v number) has(f feature) bool {
	return v.atLeast(f.since) && (f.before == number{} || !v.atLeast(f.before))
}

// String says when DeepSpeed has the feature, for the end of a message.
func (f feature) String() string {
	if f.before != (number{}) {
		return fmt.Sprintf("%s exists up to DeepSpeed %s", f.name, f.last())
	}
	return fmt.Sprintf("%s exists from DeepSpeed %s on", f.name, f.since)
}

// last is the newest release that has a feature which ended.
func (f feature) last() number {
	v := f.before
	v[2]--
	return v
}

// span names the releases that have a feature which ended.
func (f feature) span() string { return fmt.Sprintf("%s to %s", f.since, f.last()) }

// mustNumber parses the name of an embedded table.
func mustNumber(name string) number {
	var v number
	if _, err := fmt.Sscanf(name, "%d.%d.%d", &v[0], &v[1], &v[2]); err != nil {
		panic("deepspeed: version " + name + ": " + err.Error())
	}
	return v
}
