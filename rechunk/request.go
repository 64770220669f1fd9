// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/staging"
	"varve.dev/zarr/metadata"
)

// Request describes a rechunk. Its target is computed anew for every state of the array,
// because the array may grow before the result is published.
type Request interface {
	// operation is the name of the command.
	operation() string
	// target returns the grid and the codecs that the array gets, or nil if it has
	// them already.
	target(s *snapshot.Array) (*target, error)
}

// target is what a request makes of an array.
type target struct {
	doc  *metadata.Array // with the new grid, codecs and fill value; the keys are the old ones
	grid *grid.Grid      // that of doc, if the extent changes
	move staging.Move
	keys *metadata.KeyEncoding // that are wanted; nil for any
}

// withAxis returns a grid with another axis i, which may have another extent.
func withAxis(g *grid.Grid, i int, other grid.Axis) (*grid.Grid, error) {
	shape, cuts := g.Shape(), make([]grid.Cut, g.Rank())
	for k := range cuts {
		cuts[k] = cutOf(g.Axis(k))
	}
	shape[i], cuts[i] = other.Extent(), cutOf(other)
	return grid.New(shape, cuts...)
}

// recutTo returns the document of the array with another grid.
func recutTo(s *snapshot.Array, g *grid.Grid) (*metadata.Array, error) {
	doc := s.Document()
	for i := range s.Grid.Rank() {
		if s.Grid.Axis(i).IsEncoded() {
			return nil, &grid.AxisError{Axis: i, Err: fmt.Errorf("%w: chunks that are stored longer than their edges are not rechunked", zarr.ErrUnsupported)}
		}
	}
	if doc.Format() == 2 && !g.IsRegular() {
		return nil, fmt.Errorf("%w: all chunks of an array of format 2 have one shape; convert it to format 3 first ("+remedy.Convert+")", zarr.ErrUnsupported)
	}
	return doc.Recut(g.Shape(), snapshot.GridExtension(g, 0))
}

// cutOf returns the cut that makes an axis.
func cutOf(a grid.Axis) grid.Cut {
	if a.IsRegular() {
		return grid.Every(a.Step())
	}
	var runs []grid.Run
	for r := range a.Edges() {
		runs = append(runs, r)
	}
	return grid.Runs(runs...)
}

// ParseRequest returns the request of an operation, such as "rechunk", from its JSON, so
// that other processes can execute it; see [Sharing]. Package json encodes requests.
// Unknown members are an error. The JSON of an [Insertion] does not contain the new
// elements: set From before executing the request.
func ParseRequest(operation string, raw []byte) (Request, error) {
	switch operation {
	case "compact":
		if bytes.HasPrefix(bytes.TrimSpace(raw), []byte("[")) {
			return parseAs[Compactions](raw)
		}
		return parseAs[Compaction](raw)
	case "regularize":
		return parseAs[Regularization](raw)
	case "rechunk":
		return parseAs[Rechunking](raw)
	case "drop":
		return parseAs[Removal](raw, "axis", "range")
	case "insert":
		return parseAs[Insertion](raw, "axis", "at", "identity")
	}
	return nil, fmt.Errorf("%w: the operation %.40q is not known", zarr.ErrInvalidArgument, operation)
}

// parseAs parses a request, which must have some members.
func parseAs[R Request](raw []byte, needed ...string) (Request, error) {
	var r R
	if text := bytes.TrimSpace(raw); len(text) == 0 || string(text) == "null" {
		return nil, fmt.Errorf("%w: there is no request", zarr.ErrInvalidArgument)
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		return nil, fmt.Errorf("%w: the request: %w", zarr.ErrInvalidArgument, err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("%w: more follows the request", zarr.ErrInvalidArgument)
	}
	if needed == nil {
		return r, nil
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return nil, fmt.Errorf("%w: the request: %w", zarr.ErrInvalidArgument, err)
	}
	for _, name := range needed {
		if v := members[name]; v == nil || string(v) == "null" {
			return nil, fmt.Errorf("%w: the request has no member %q", zarr.ErrInvalidArgument, name)
		}
	}
	return r, nil
}
