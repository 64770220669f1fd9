// SPDX-License-Identifier: Apache-2.0

package page

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/rechunk"
)

// nativeInt returns a number as an element.
func nativeInt(n int64) []byte { return binary.NativeEndian.AppendUint64(nil, uint64(n)) }

// preview is what a rechunk would do.
type preview struct {
	Before    []runs `json:"before"`
	After     []runs `json:"after"`
	Kept      int64  `json:"kept"` // chunks that are copied as they are encoded
	Rewritten int64  `json:"rewritten"`
	Read      int64  `json:"bytes_read"`
	Written   int64  `json:"bytes_written"` // of elements, before compression, and of copies
	Requests  int64  `json:"requests"`
	Changes   bool   `json:"changes"`
	Command   string `json:"command"`
	version   string
}

func (p *preview) tag() string { return p.version }

// usualChunk is about how many bytes a chunk has after a compaction.
const usualChunk = 16 << 20

// plan answers what a rechunk would do. It changes nothing.
func (h *Handler) plan(ctx context.Context, q *query) (any, error) {
	a, err := h.openArray(ctx, q.node)
	if err != nil {
		return nil, err
	}
	defer a.Close() // it was only read
	request, command, err := a.request(q)
	if err != nil {
		return nil, err
	}
	plan, err := rechunk.NewPlan(ctx, a.Array, request, &rechunk.Options{Memory: h.Memory})
	if err != nil {
		at := (*zarr.Error)(nil)
		if ctx.Err() == nil && errors.As(err, &at) && slices.Contains([]zarr.Kind{"invalid-argument", "unsupported", "limit", "overflow"}, zarr.KindOf(err)) {
			return nil, refuse(http.StatusBadRequest, "%s", at.Err)
		}
		return nil, err
	}
	if strings.HasSuffix(command, " ") {
		chunks := spelled(plan.Grid)
		if command += chunks; chunks == "" {
			command = ""
		}
	}
	r := plan.Requests
	p := &preview{
		Kept: plan.Cloned + plan.Arranged, Rewritten: plan.Encoded, Read: plan.BytesRead, Written: plan.BytesCopied + plan.BytesEncoded,
		Requests: r.Get + r.Head + r.Put + r.Copy + r.List, Changes: plan.Changes, Command: command, version: a.version,
	}
	for i := range a.Rank() {
		p.Before, p.After = append(p.Before, runsIn(a.state.Grid.Axis(i))), append(p.After, runsIn(plan.Grid.Axis(i)))
	}
	return p, nil
}

// request returns the rechunk that is asked for, and its command.
func (a *array) request(q *query) (rechunk.Request, string, error) {
	name := a.node()
	if a.h.Named != nil {
		name = a.h.Named(name)
	}
	switch q.to {
	case "regularize":
		return rechunk.Regularization{}, "varve regularize " + name, nil
	case "compact":
		axis := q.axis
		for i := 0; i < a.Rank() && axis < 0; i++ {
			if !a.state.Grid.Axis(i).IsRegular() {
				axis = i
			}
		}
		if axis < 0 || axis >= a.Rank() {
			return nil, "", refuse(http.StatusBadRequest, "no axis has chunks of different lengths, which a compaction would merge")
		}
		plane, up := int64(max(1, a.state.Type.Size())), int64(1)
		for i := range a.Rank() {
			along := a.state.Grid.Axis(i)
			if longest := along.Longest(grid.Interval{Stop: along.Cells()}); i != axis {
				plane = checked.Capped(plane, longest)
			} else {
				up = max(up, longest)
			}
		}
		up = max(up, usualChunk/max(1, plane))
		label := strconv.Itoa(axis)
		if names := a.DimensionNames(); names != nil && plainName(names[axis]) {
			label = names[axis]
		}
		return rechunk.Compaction{Axis: axis, UpTo: up}, fmt.Sprintf("varve compact %s --axis %s --to max:%d", name, label, up), nil
	}
	var cuts rechunk.Cuts
	if err := json.Unmarshal([]byte(q.to), &cuts); err != nil || len(cuts) != a.Rank() || len(cuts) == 0 {
		return nil, "", refuse(http.StatusBadRequest, "to= is compact, regularize, or a list with the chunks of each axis, such as [365,72]")
	}
	return rechunk.Rechunking{Chunks: cuts}, "varve rechunk " + name + " --chunks ", nil
}

// mostSpelled bounds the lengths of chunks that a command has.
const mostSpelled = 1000

// spelled returns the chunks of a grid as the command spells them, "" if they are many.
func spelled(g *grid.Grid) string {
	axes, n := make([]string, g.Rank()), int64(0)
	for i := range axes {
		axis := g.Axis(i)
		if axes[i] = strconv.FormatInt(axis.Step(), 10); axis.IsRegular() {
			continue
		}
		var lengths []string
		for r := range axis.Edges() {
			if n += r.Count; n > mostSpelled || r.Count > mostSpelled {
				return ""
			}
			for range r.Count {
				lengths = append(lengths, strconv.FormatInt(r.Length, 10))
			}
		}
		axes[i] = "[" + strings.Join(lengths, ",") + "]"
	}
	if n == 0 {
		return strings.Join(axes, ",")
	}
	return "'[" + strings.Join(axes, ",") + "]'"
}

// plainName reports whether a name means nothing else to a shell.
func plainName(name string) bool {
	return name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == ""
}
