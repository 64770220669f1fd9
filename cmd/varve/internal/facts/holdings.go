// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/internal/cf"
	"varve.dev/zarr/internal/statistics"
)

// Holdings are what the chunks of an array hold, as far as that is known.
type Holdings struct {
	Cells    int64           `json:"cells"` // of stored chunks: chunks, or inner chunks
	Known    int64           `json:"cells_known"`
	Elements int64           `json:"elements"` // of the known cells, and of chunks that are not stored
	Minimum  json.RawMessage `json:"minimum"`
	Maximum  json.RawMessage `json:"maximum"`
	Range    []string        `json:"range"` // the decoded values, the least first
	Missing  int64           `json:"missing"`
	Fill     int64           `json:"fill"`
}

// HoldingsOf returns what a report says of an array.
func HoldingsOf(ctx context.Context, a *zarr.Array, r *statistics.Report) (h Holdings, err error) {
	h = Holdings{Cells: r.Cells, Known: r.Known, Elements: r.Elements, Missing: r.Summary.Missing, Fill: r.Summary.Fill, Range: []string{}}
	if r.Summary.Minimum == nil {
		return h, nil
	}
	h.Minimum, h.Maximum = a.Type().AppendJSON(nil, r.Summary.Minimum), a.Type().AppendJSON(nil, r.Summary.Maximum)
	d, err := cf.DecodingOf(ctx, a)
	if err != nil {
		return h, err
	}
	h.Range = []string{decoded(d, a, r.Summary.Minimum), decoded(d, a, r.Summary.Maximum)}
	// With a negative scale, values fall as the stored numbers rise.
	if d != nil {
		if scale, _ := d.Scale(); scale < 0 {
			h.Range[0], h.Range[1] = h.Range[1], h.Range[0]
		}
	}
	return h, nil
}

// decoded returns a stored element as text. d is nil if elements need no decoding.
func decoded(d *cf.Decoding, a *zarr.Array, elem []byte) string {
	if d == nil {
		return string(a.Type().AppendText(nil, elem))
	}
	if d = d.AsText(); d.Type().Variable() {
		return d.DecodeText(elem)
	}
	made := make([]byte, d.Type().Size())
	d.Decode(made, elem)
	return d.Format(made)
}

// Texts says what the chunks hold.
func (h *Holdings) Texts() (list []string) {
	if len(h.Range) == 2 {
		list = append(list, phrase.Printable(h.Range[0])+" … "+phrase.Printable(h.Range[1]))
	}
	return append(list, phrase.Count(h.Missing)+" missing", phrase.Count(h.Fill)+" of the fill value")
}

// KeptHoldings returns what the statistics that are kept say of the present chunks, or
// nil if none are kept.
func KeptHoldings(ctx context.Context, a *zarr.Array) (*Holdings, error) {
	kept, err := statistics.IsKept(ctx, a)
	if err != nil || !kept {
		return nil, err
	}
	r, err := statistics.Make(ctx, a, &statistics.Options{DryRun: true})
	if errors.Is(err, zarr.ErrUnsupported) {
		return nil, nil // such as a store that does not tell versions
	}
	if err != nil {
		return nil, err
	}
	h, err := HoldingsOf(ctx, a, r)
	return &h, err
}

// Extent says in what range the elements of known chunks lie, or returns "".
func (h *Holdings) Extent() string {
	if len(h.Range) != 2 {
		return ""
	}
	text := phrase.Printable(h.Range[0]) + " … " + phrase.Printable(h.Range[1])
	if h.Known < h.Cells {
		text += fmt.Sprintf(" in %s of %s", phrase.Count(h.Known), phrase.Plural(h.Cells, "chunk"))
	}
	return text
}

// text says what is known, and of how much.
func (h *Holdings) text() string {
	if h.Known < h.Cells {
		return fmt.Sprintf("%s of %s known: %s; varve stats reads the others", phrase.Count(h.Known), phrase.Plural(h.Cells, "chunk"), strings.Join(h.Texts(), ", "))
	}
	return strings.Join(h.Texts(), ", ")
}
