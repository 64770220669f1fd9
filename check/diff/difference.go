// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"context"
	"fmt"
	"math"
	"slices"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/cf"
	"varve.dev/zarr/internal/missing"
	"varve.dev/zarr/internal/quantity"
)

// Kind says in what two nodes differ: "only-in-a", "only-in-b", "node-kind", "data-type",
// "shape", "fill-value", "dimension-names", "attribute" or "values". Those in
// [Report.Storage] may also be "zarr-format", "chunk-grid", "chunk-key-encoding" or
// "codecs".
type Kind string

const (
	onlyInA        Kind = "only-in-a"
	onlyInB        Kind = "only-in-b"
	nodeKind       Kind = "node-kind"
	dataType       Kind = "data-type"
	shape          Kind = "shape"
	fillValue      Kind = "fill-value"
	dimensionNames Kind = "dimension-names"
	attribute      Kind = "attribute"
	values         Kind = "values"

	zarrFormat       Kind = "zarr-format"
	chunkGrid        Kind = "chunk-grid"
	chunkKeyEncoding Kind = "chunk-key-encoding"
	codecs           Kind = "codecs"
)

// Difference is one difference of two nodes.
type Difference struct {
	Path string // of the node, relative to the compared nodes; "" for these
	Kind Kind
	Name string // of an attribute
	// A and B are what the nodes have, as JSON: "" if a node has no such attribute. Of
	// values they are the first elements that differ, in the form of fill values.
	A, B string

	// These are set for values: a box that contains elements that differ, their number,
	// the index of the first one, and the largest distance of numbers, which is negative
	// if no two of them are finite numbers.
	Region  grid.Box
	Count   int64
	First   []int64
	Largest float64
}

// String describes the difference in one line, without the path.
func (d Difference) String() string {
	switch d.Kind {
	case onlyInA:
		return "only in A: " + article(d.A)
	case onlyInB:
		return "only in B: " + article(d.B)
	case nodeKind:
		return fmt.Sprintf("%s in A, %s in B", article(d.A), article(d.B))
	case attribute:
		return fmt.Sprintf("attribute %s: %s and %s", d.Name, orNone(d.A), orNone(d.B))
	case values:
		text := fmt.Sprintf("%s in [%s]", quantity.Count(d.Count, "elements differ"), boxText(d.Region))
		if d.Count == 1 {
			text = fmt.Sprintf("element %v differs", d.First)
		}
		if d.Largest >= 0 && d.Count > 1 {
			text += fmt.Sprintf(", by %g at most", d.Largest)
		}
		if d.Count > 1 {
			text += fmt.Sprintf("; the first is %v", d.First)
		}
		return text + fmt.Sprintf(": %s and %s", d.A, d.B)
	}
	return fmt.Sprintf("%s: %s and %s", words[d.Kind], orNone(d.A), orNone(d.B))
}

// words are the kinds that are printed as they are, in words.
var words = map[Kind]string{
	dataType: "data type", shape: "shape", fillValue: "fill value", dimensionNames: "dimension names",
	zarrFormat: "format", chunkGrid: "chunk grid", chunkKeyEncoding: "chunk key encoding", codecs: "codecs",
}

func article(kind string) string {
	if kind == "array" {
		return "an array"
	}
	return "a " + kind
}

func orNone(text string) string {
	if text == "" {
		return "none"
	}
	return text
}

// boxText returns a box as a selection.
func boxText(box grid.Box) string {
	text := ""
	for i, in := range box {
		if i > 0 {
			text += ", "
		}
		if in.Len() == 1 {
			text += fmt.Sprint(in.Start)
			continue
		}
		text += fmt.Sprintf("%d:%d", in.Start, in.Stop)
	}
	return text
}

// isMask reports whether an attribute marks missing values.
func isMask(name string) bool { return name == missing.FillValue || name == missing.Value }

// sameMasks reports whether elements of the same values are missing in two nodes, which
// are arrays, as xarray reads them. In format 2 the fill value marks missing elements,
// and takes precedence over the attribute _FillValue; in format 3 the attribute alone
// does. So a conversion moves the value from one to the other. NaN is missing in any
// case.
func sameMasks(ctx context.Context, a, b zarr.Node) bool {
	x, isFirst := a.(*zarr.Array)
	y, isSecond := b.(*zarr.Array)
	if !isFirst || !isSecond || x.Type() != y.Type() {
		return false
	}
	p, err := masksOf(ctx, x)
	if err != nil {
		return false
	}
	q, err := masksOf(ctx, y)
	return err == nil && slices.Equal(p, q)
}

// masksOf returns the bytes of the elements that are missing, in order, without NaN.
func masksOf(ctx context.Context, a *zarr.Array) (masks []string, err error) {
	filled, err := cf.MasksFill(ctx, a)
	if err != nil {
		return nil, err
	}
	for elem := range cf.Missing(a.Metadata(), filled) {
		if v, err := missing.Number(a.Type(), elem); a.Type().Kind() == dtype.KindFloat && err == nil && math.IsNaN(v) {
			continue
		}
		masks = append(masks, string(elem))
	}
	slices.Sort(masks)
	return slices.Compact(masks), nil
}
