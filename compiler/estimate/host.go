package estimate

import (
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/compiler/program"
	"github.com/ndc-dev/ndc/lang/units"
)

// hostTimes is what the host takes to launch, in the forms that layers use.
type hostTimes struct {
	operation units.Seconds // of a layer's forward
	backward  units.Ratio   // of a layer's backward, over its forward

	moe        units.Seconds // of a mixture's layer beside its operations and experts
	router     units.Ratio   // of moe
	preprocess units.Ratio   // of moe
	exchange   units.Ratio   // of moe, from the counts of tokens to its last launch
	sends      units.Ratio   // of all of moe but the router, with the dispatcher hybridep
	expert     units.Seconds // of one local expert
}

// hostTimesOf looks up what holds for an engine on a GPU's host, which may take longer
// than those that the parameters speak of.
func hostTimesOf(p Parameters, operation string, slower float64) hostTimes {
	at := func(name string) units.Seconds { return units.Seconds(slower * p.at(name)) }
	return hostTimes{
		operation: at(operation), backward: units.Ratio(p.at("host_backward")),
		moe: at("host_moe"), router: units.Ratio(p.at("host_moe_router")), preprocess: units.Ratio(p.at("host_moe_preprocess")),
		exchange: units.Ratio(p.at("host_moe_exchange")), sends: units.Ratio(p.at("host_moe_sends")),
		expert: at("host_expert"),
	}
}

// host makes the layer at least as long as the host takes to launch it.
func (b *builder) host(layer program.Layer) {
	t := b.launches(layer)
	b.launch = t
	if b.e.blocking { // the host waits for every kernel before it launches the next
		b.fwd[lineHost] += t
		b.bwd[lineHost] += b.e.host.backward.Of(t)
		return
	}
	b.fwd[lineHost] += max(0, t-b.fwd.sum(), b.behindCounts())
	b.bwd[lineHost] += max(0, b.e.host.backward.Of(t)-b.bwd.sum())
}

// behindCounts is by how much the host launches what follows the router later than the
// device runs it: the device is idle when the host has read the counts of tokens.
func (b *builder) behindCounts() units.Seconds {
	if b.experts == 0 || !b.counts() || b.x.Captures(plan.GraphMoE) {
		return 0
	}
	h := &b.e.host
	return (h.exchange * (h.router + b.dispatcher(1-h.router))).Of(h.moe) + b.products() - b.fwd[lineExperts] - b.fwd[lineExpert]
}

// launches is the time in which the host launches what of the layer no CUDA graph
// does: its operations one by one, and what experts add.
func (b *builder) launches(layer program.Layer) (t units.Seconds) {
	h := &b.e.host
	for i := range layer {
		if !b.x.Captures(layer[i].GraphModule()) {
			t += h.operation * units.Seconds(layer[i].Launches())
		}
	}
	if b.experts == 0 || b.x.Captures(plan.GraphMoE) {
		return t
	}
	router, dispatcher := h.router, 1-h.router
	if b.x.Captures(plan.GraphMoERouter) {
		router = 0
	}
	if b.x.Captures(plan.GraphMoEPreprocess) {
		dispatcher -= h.preprocess
	}
	return t + (router + b.dispatcher(dispatcher)).Of(h.moe) + b.products()
}

// dispatcher is what a share of moe that the dispatcher alltoall launches is with that
// of the layout.
func (b *builder) dispatcher(alltoall units.Ratio) units.Ratio {
	if b.x.MoEDispatcher == "hybridep" {
		return b.e.host.sends * alltoall
	}
	return alltoall
}

// products is the time in which the host launches the multiplications of a rank's
// experts.
func (b *builder) products() units.Seconds {
	if b.e.runtime.Experts.LaunchedTogether {
		return 0
	}
	return units.Seconds(b.experts) * b.e.host.expert
}
