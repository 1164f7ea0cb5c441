package functions

import (
	"errors"
	"fmt"
	"math/big"
	"net/netip"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/gocty"
)

var prefixParameter = function.Parameter{Name: "prefix", Type: cty.String}

func parsePrefix(v cty.Value) (netip.Prefix, error) {
	p, err := netip.ParsePrefix(v.AsString())
	if err != nil {
		return p, function.NewArgErrorf(0, "invalid CIDR expression: %s", err)
	}
	return p.Masked(), nil
}

// addTo adds n to the address, within its family.
func addTo(a netip.Addr, n *big.Int) (netip.Addr, bool) {
	sum := new(big.Int).Add(new(big.Int).SetBytes(a.AsSlice()), n)
	if sum.Sign() < 0 || sum.BitLen() > a.BitLen() {
		return a, false
	}
	return netip.AddrFromSlice(sum.FillBytes(make([]byte, a.BitLen()/8)))
}

func integer(v cty.Value, i int) (*big.Int, error) {
	f := v.AsBigFloat()
	if f.MantExp(nil) > 256 { // beyond any address; Int would be huge
		return nil, function.NewArgErrorf(i, "is too large")
	}
	n, accuracy := f.Int(nil)
	if accuracy != big.Exact {
		return nil, function.NewArgErrorf(i, "must be a whole number")
	}
	return n, nil
}

// cidrHostFunc gives the address of a host in a prefix; negative numbers count
// from its end.
var cidrHostFunc = function.New(&function.Spec{
	Params: []function.Parameter{prefixParameter, {Name: "hostnum", Type: cty.Number}},
	Type:   function.StaticReturnType(cty.String),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		p, err := parsePrefix(args[0])
		if err != nil {
			return cty.NilVal, err
		}
		n, err := integer(args[1], 1)
		if err != nil {
			return cty.NilVal, err
		}
		size := new(big.Int).Lsh(big.NewInt(1), uint(p.Addr().BitLen()-p.Bits()))
		if n.Sign() < 0 {
			n.Add(n, size)
		}
		if n.Sign() < 0 || n.Cmp(size) >= 0 {
			return cty.NilVal, fmt.Errorf("prefix of %d does not accommodate a host numbered %s", p.Bits(), args[1].AsBigFloat().Text('f', 0))
		}
		a, _ := addTo(p.Addr(), n)
		return cty.StringVal(a.String()), nil
	},
})

// cidrNetmaskFunc gives the mask of an IPv4 prefix.
var cidrNetmaskFunc = function.New(&function.Spec{
	Params: []function.Parameter{prefixParameter},
	Type:   function.StaticReturnType(cty.String),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		p, err := parsePrefix(args[0])
		if err != nil {
			return cty.NilVal, err
		}
		if !p.Addr().Is4() {
			return cty.NilVal, errors.New("IPv6 addresses cannot have a netmask")
		}
		full := netip.PrefixFrom(netip.AddrFrom4([4]byte{255, 255, 255, 255}), p.Bits())
		return cty.StringVal(full.Masked().Addr().String()), nil
	},
})

// cidrSubnetFunc gives one of the subnets with some more bits.
var cidrSubnetFunc = function.New(&function.Spec{
	Params: []function.Parameter{prefixParameter, {Name: "newbits", Type: cty.Number}, {Name: "netnum", Type: cty.Number}},
	Type:   function.StaticReturnType(cty.String),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		p, err := parsePrefix(args[0])
		if err != nil {
			return cty.NilVal, err
		}
		var newbits int
		if err := gocty.FromCtyValue(args[1], &newbits); err != nil {
			return cty.NilVal, function.NewArgError(1, err)
		}
		n, err := integer(args[2], 2)
		if err != nil {
			return cty.NilVal, err
		}
		bits := p.Bits() + newbits
		if newbits < 0 || bits > p.Addr().BitLen() {
			return cty.NilVal, fmt.Errorf("not enough bits to extend prefix of %d by %d", p.Bits(), newbits)
		}
		if n.Sign() < 0 || n.BitLen() > newbits {
			return cty.NilVal, fmt.Errorf("prefix extension of %d does not accommodate a subnet numbered %s", newbits, n)
		}
		a, _ := addTo(p.Addr(), n.Lsh(n, uint(p.Addr().BitLen()-bits)))
		return cty.StringVal(netip.PrefixFrom(a, bits).String()), nil
	},
})

// cidrSubnetsFunc gives consecutive subnets, each with some more bits.
var cidrSubnetsFunc = function.New(&function.Spec{
	Params:   []function.Parameter{prefixParameter},
	VarParam: &function.Parameter{Name: "newbits", Type: cty.Number},
	Type:     function.StaticReturnType(cty.List(cty.String)),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		p, err := parsePrefix(args[0])
		if err != nil {
			return cty.NilVal, err
		}
		next, subnets := p.Addr(), []cty.Value{}
		for i, a := range args[1:] {
			var newbits int
			if err := gocty.FromCtyValue(a, &newbits); err != nil {
				return cty.NilVal, function.NewArgError(i+1, err)
			}
			bits := p.Bits() + newbits
			if newbits < 1 || bits > p.Addr().BitLen() {
				return cty.NilVal, function.NewArgErrorf(i+1, "not enough bits to extend prefix of %d by %d", p.Bits(), newbits)
			}
			var subnet netip.Prefix
			if subnet, next, err = allocate(p, next, bits); err != nil {
				return cty.NilVal, function.NewArgError(i+1, err)
			}
			subnets = append(subnets, cty.StringVal(subnet.String()))
		}
		if len(subnets) == 0 {
			return cty.ListValEmpty(cty.String), nil
		}
		return cty.ListVal(subnets), nil
	},
})

// allocate finds the first subnet of that many bits at or after an address,
// and the address after it.
func allocate(p netip.Prefix, from netip.Addr, bits int) (netip.Prefix, netip.Addr, error) {
	size := new(big.Int).Lsh(big.NewInt(1), uint(p.Addr().BitLen()-bits))
	subnet := netip.PrefixFrom(from, bits).Masked()
	if subnet.Addr() != from {
		start, ok := addTo(subnet.Addr(), size)
		if !ok {
			return subnet, from, fmt.Errorf("not enough remaining address space for a subnet with a prefix of %d bits", bits)
		}
		subnet = netip.PrefixFrom(start, bits)
	}
	if !from.IsValid() || !p.Contains(subnet.Addr()) {
		return subnet, from, fmt.Errorf("not enough remaining address space for a subnet with a prefix of %d bits", bits)
	}
	next, ok := addTo(subnet.Addr(), size)
	if !ok {
		next = netip.Addr{} // the space of addresses ends here
	}
	return subnet, next, nil
}
