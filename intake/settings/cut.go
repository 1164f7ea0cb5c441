package settings

import (
	"fmt"
	"strings"

	"github.com/ndc-dev/ndc/backends/torchtitan"
	"github.com/ndc-dev/ndc/intake/draft"
)

const (
	layersOfStage = "parallelism.pipeline_parallel_layers_per_stage"
	stageLayers   = "constraints.layout.stage_layers"
	mostLayers    = 100_000 // more than any model has
)

// cut reads a key of how TorchTitan cuts the model, which counts where no list of modules does.
func cut(r *reading, k key, _ *rule) outcome {
	switch {
	case r.number("parallelism.pipeline_parallel_degree", 1) <= 1 && !r.opened("parallelism.pipeline_parallel_degree"):
		return left("the pipeline has one stage")
	case r.given["parallelism.module_fqns_per_model_part"].Value != nil:
		return left("module_fqns_per_model_part says it")
	case k.Value == nil:
		return left("none")
	}
	return outcome{to: stageLayers}
}

// rounds says of the batch of a rank that a step takes it several times: the pipeline runs
// empty after each (trainer's gradient_accumulation_steps), and once a step in a job.
func (r *reading) rounds() {
	const global, local = "training.global_batch_size", "training.local_batch_size"
	replicas := r.whole("parallelism.data_parallel_shard_degree") * r.whole("parallelism.data_parallel_replicate_degree")
	if parts := r.whole("parallelism.pipeline_parallel_degree") * r.whole("parallelism.tensor_parallel_degree") * r.whole("parallelism.context_parallel_degree"); replicas <= 0 && parts > 0 {
		replicas = r.d.Int("cluster.nodes") * r.d.Int("cluster.gpus_per_node") / parts
	}
	if r.whole("parallelism.pipeline_parallel_degree") <= 1 || r.whole(local) <= 0 || (r.whole(global)-1)/r.whole(local) < max(replicas, 1) || r.opened(global, local) {
		return
	}
	times := "global_batch_size takes it several times where replicas are few enough"
	if replicas > 0 {
		times = fmt.Sprintf("global_batch_size takes it %d times", r.whole(global)/r.whole(local)/replicas)
	}
	why := times + ", and the pipeline runs empty after each; a job has all micro-batches of a step in one pass"
	if k := r.given[local]; r.has(local) {
		r.d.Correct(r.at(k), local, draft.Unknown, "", why)
	} else {
		r.d.Find(draft.Finding{Place: r.at(r.given[global]), Name: local, Value: fmt.Sprint(r.whole(local)), Verdict: draft.Unknown, Why: "the release's default; " + why})
	}
}

// pipeline settles schedule, chunks and layers of a pipeline as TorchTitan does where
// nothing says them (distributed/pipeline_parallel.py: pipeline_llm,
// generate_llm_fqn_per_model_part).
func (r *reading) pipeline() {
	const layout, first, last = "constraints.layout.", "parallelism.pipeline_parallel_first_stage_less_layers", "parallelism.pipeline_parallel_last_stage_less_layers"
	const degree, order = "parallelism.pipeline_parallel_degree", "parallelism.pipeline_parallel_schedule"
	stages := r.whole(degree)
	if name, ok := torchtitan.Schedule(r.version, r.text(order)); ok && stages > 1 && r.text(order+"_csv") == "" && !r.opened(degree, order) {
		r.d.Default(layout+"pipeline_schedule", name, draft.Place{})
	}
	switch {
	case r.opened(degree, order, first, last, layersOfStage, "parallelism.module_fqns_per_model_part"):
		r.d.Withdraw(stageLayers, "how the pipeline is cut is known only when the script runs")
		return
	case stages <= 1 || r.d.Has(stageLayers):
		return
	case r.earlier:
		r.d.Withdraw(stageLayers, "a release before 0.2.0 cuts the pipeline otherwise")
		return
	}
	chunks := int64(2)
	if name := strings.ToLower(r.text(order)); name == "1f1b" || name == "gpipe" {
		chunks = 1
	}
	layers, before, behind := r.d.Int("model.layers"), r.whole(first), r.whole(last)
	switch {
	case layers > mostLayers:
		return // build says so
	case layers > 0 && (min(before, behind) < 0 || max(stages, before, behind) > layers):
		r.d.Withdraw(stageLayers, "TorchTitan refuses it: a stage would have less than no layers")
		return
	}
	if n := r.whole(layersOfStage); n > 0 && layers <= 0 {
		r.d.Withdraw(stageLayers, "how many layers the model has is not known: give the file that says it, too")
		return
	} else if n > 0 {
		chunks = (layers+before+behind-1)/n + 1
		if chunks%stages != 0 {
			r.d.Withdraw(stageLayers, "TorchTitan refuses stages that do not divide by the ranks of the pipeline")
			return
		}
		chunks /= stages
	}
	r.set(layout+"virtual_pipeline", chunks)
	if layers <= 0 {
		r.d.Withdraw(stageLayers, "how many layers the model has is not known: give the file that says it, too")
		return
	}
	all := make([]int64, stages*chunks)
	for i := range all {
		all[i] = (layers + before + behind) / int64(len(all))
		if int64(i) < (layers+before+behind)%int64(len(all)) {
			all[i]++
		}
	}
	all[0] -= before
	all[len(all)-1] -= behind
	if min(all[0], all[len(all)-1]) < 0 {
		r.d.Withdraw(stageLayers, "TorchTitan refuses it: a stage would have less than no layers")
		return
	}
	r.d.Set(stageLayers, all, draft.Place{})
}
