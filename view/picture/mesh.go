package picture

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/lang/units"
)

// linkColours are those of the links.
var linkColours = map[string]string{"nvlink": "#228833", "pcie": "#ccbb44", "network": "#ee7733"}

// mostNodes is how many nodes a row of the mesh has room for.
const mostNodes = 12

// meshAxis is a group of the mesh as JSON.
type meshAxis struct {
	Axis    string `json:"axis"`
	Size    int    `json:"size"`
	Stride  int    `json:"stride"`
	Link    string `json:"link"`
	Groups  int    `json:"groups"`
	Members []int  `json:"first_group"` // global ranks of the group of rank 0
}

func axesOf(m *plan.Mesh) []meshAxis {
	var list []meshAxis
	for _, g := range m.Groups {
		a := meshAxis{Axis: g.Name, Size: g.Size, Stride: g.Stride, Link: g.Link, Groups: g.Count}
		for i := range g.Size {
			a.Members = append(a.Members, i*g.Stride)
		}
		list = append(list, a)
	}
	return list
}

func dataMesh(s *Subject) any { return axesOf(&s.Plan.Mesh) }

// nodesOf are the nodes that a group has members on, those that there is room for.
func nodesOf(a *meshAxis, perNode int) (shown []int, all int) {
	last := -1
	for _, r := range a.Members {
		if n := r / perNode; n != last {
			last = n
			all++
			shown = append(shown, n)
		}
	}
	if len(shown) > mostNodes {
		shown = append(shown[:mostNodes-1:mostNodes-1], shown[len(shown)-1])
	}
	return shown, all
}

// drawMesh has a row for every axis: the nodes that the group of rank 0 lies on,
// and its members in the colour of the link that joins them.
func drawMesh(s *Subject, c *canvas) {
	entitle(s, c)
	in := &s.Plan.Input
	perNode := max(1, in.GPUs/max(1, in.Nodes))
	c.head(fmt.Sprintf("The group of rank 0 along every axis: boxes are nodes of %s, squares are ranks", units.Count(perNode, "GPU")))
	const names = 190
	var alone []string
	for _, a := range axesOf(&s.Plan.Mesh) {
		if a.Size == 1 {
			alone = append(alone, strings.ReplaceAll(a.Axis, "_", " "))
			continue
		}
		nodes, all := nodesOf(&a, perNode)
		c.anchored(margin+names-12, c.y+14, 12, "ink", "end", strings.ReplaceAll(a.Axis, "_", " "))
		c.anchored(margin+names-12, c.y+28, 10, "soft", "end", fmt.Sprintf("%d ranks, %d apart, %s", a.Size, a.Stride, a.Link))
		room := float64(width - 2*margin - names - 90)
		wide := min(room/float64(mostNodes), 62)
		columns := min(perNode, 4)
		cell := (wide - 14) / float64(columns)
		tall := float64((perNode+columns-1)/columns) * cell
		for i, n := range nodes {
			x := margin + names + float64(float64(i)*wide)
			if i > 0 && n != nodes[i-1]+1 {
				c.anchored(x-5, c.y+int(tall/2)+6, 11, "soft", "middle", "…")
			}
			fmt.Fprintf(&c.body, `<rect x="%s" y="%d" width="%s" height="%s" rx="3" class="faint"><title>node %d</title></rect>`+"\n", number(x+1), c.y, number(wide-12), number(tall+4), n)
			drawNode(c, &a, n, perNode, columns, x+3, cell)
		}
		if len(nodes) < all {
			c.text(margin+names+float64(float64(len(nodes))*wide)+4, c.y+int(tall/2)+6, 11, "soft", fmt.Sprintf("of %d nodes", all))
		}
		c.y += max(int(tall)+14, 36)
	}
	if len(alone) > 0 {
		c.note("Of one rank: " + strings.Join(alone, ", "))
	}
	c.legend([]string{"joined by NVLink", "by PCIe", "by the network"}, []string{linkColours["nvlink"], linkColours["pcie"], linkColours["network"]})
}

// drawNode draws the ranks of a node, those of the group coloured.
func drawNode(c *canvas, a *meshAxis, node, perNode, columns int, x, cell float64) {
	members := map[int]bool{}
	for _, r := range a.Members {
		members[r] = true
	}
	for k := range perNode {
		rank := node*perNode + k
		fill := "idle"
		if members[rank] {
			fill = linkColours[a.Link]
		}
		fmt.Fprintf(&c.body, `<rect x="%s" y="%s" width="%s" height="%[3]s" %s><title>rank %d</title></rect>`+"\n",
			number(x+float64(float64(k%columns)*cell)), number(float64(c.y+2)+float64(float64(k/columns)*cell)), number(cell-1.5), painted(fill), rank)
	}
}

func textMesh(s *Subject) string {
	var b strings.Builder
	in := &s.Plan.Input
	fmt.Fprintf(&b, "%s: %s on %s, innermost axis first\n", heading(s), units.Count(in.GPUs, "GPU"), units.Count(in.Nodes, "node"))
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "axis\tranks\tapart\tlink\tgroups\tranks of the first")
	for _, a := range axesOf(&s.Plan.Mesh) {
		fmt.Fprintf(w, "%s\t%d\t%d\t%s\t%d\t%s\n", a.Axis, a.Size, a.Stride, a.Link, a.Groups, someRanks(a.Members))
	}
	w.Flush() // into memory, which does not fail
	return b.String()
}

// someRanks lists ranks, of many the first and the last.
func someRanks(list []int) string {
	const most = 6
	var words []string
	for i, r := range list {
		if len(list) > most && i == most-2 {
			words = append(words, "…")
		}
		if len(list) <= most || i < most-2 || i == len(list)-1 {
			words = append(words, fmt.Sprint(r))
		}
	}
	return strings.Join(words, " ")
}
