// SPDX-License-Identifier: Apache-2.0

package arrays

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
)

// The group of a crowd has an axis of time, and two arrays along it: one of planes with
// listed edges, and one in shards. Their elements follow from those of time.
const planeColumns = 3

// planes returns the elements of the array with listed edges.
func planes(rows []int32) []int32 {
	out := make([]int32, 0, planeColumns*len(rows))
	for _, v := range rows {
		for j := range int32(planeColumns) {
			out = append(out, 4*v+j)
		}
	}
	return out
}

// negative returns the elements of the array in shards.
func negative(rows []int32) []int32 {
	out := make([]int32, len(rows))
	for i, v := range rows {
		out[i] = -v
	}
	return out
}

// groupSpecs are the arrays of a group, without elements.
func groupSpecs() map[string]zarr.Spec {
	typ, time := dtype.Int32, []string{"time"}
	return map[string]zarr.Spec{
		"time":   {Shape: []int64{0}, Type: typ, Chunks: []grid.Cut{grid.Every(chunkRows)}, DimensionNames: time},
		"planes": {Shape: []int64{0, planeColumns}, Type: typ, Chunks: []grid.Cut{grid.Edges(), grid.Every(2)}, DimensionNames: []string{"time", "x"}},
		"shards": inShards(zarr.Spec{Shape: []int64{0}, Type: typ, Chunks: []grid.Cut{grid.Every(shardRows)}, DimensionNames: time}),
	}
}

func createGroup(ctx context.Context, location string) error {
	g, err := zarr.CreateGroup(ctx, location, nil, nil)
	if err != nil {
		return err
	}
	defer g.Close()
	for name, spec := range groupSpecs() {
		if _, err := g.At(name).CreateArray(ctx, spec, nil); err != nil {
			return err
		}
	}
	return g.Consolidate(ctx)
}

// joiner is a program that works on a group.
type joiner struct {
	role
	*zarr.Group
}

func (r role) openGroup(ctx context.Context) (actor, error) {
	g, err := zarr.OpenGroup(ctx, r.location, &zarr.Options{Write: !r.isReader()})
	if err != nil {
		return nil, err
	}
	return &joiner{r, g}, nil
}

func (j *joiner) step(ctx context.Context, k int) error {
	if j.kind == joins {
		return join(ctx, j.Group, batch(j.number, k))
	}
	_, err := look(ctx, j.At(""), j.number%2 == 0)
	return err
}

// join appends rows to all arrays at once. It repeats what other programs got in the way
// of. A change that is decided is made, and the next writer completes it.
func join(ctx context.Context, g *zarr.Group, rows []int32) error {
	return insist(func() error {
		err := g.Append(ctx, zarr.Add("time", 0, rows, nil), zarr.Add("planes", 0, planes(rows), nil),
			zarr.Addition{Path: "shards", From: sourceOf(negative(rows)), Options: rounded})
		if errors.Is(err, zarr.ErrDecided) {
			return nil
		}
		return err
	})
}

// look opens the arrays as the consolidated metadata describes them, and reads them: all
// have grown at once. It refreshes them if it is asked to. Then each is as its own
// document says, so one may have grown before another.
func look(ctx context.Context, at *zarr.Location, refresh bool) (*found, error) {
	g, err := at.OpenGroup(ctx, nil)
	if err != nil {
		return nil, err
	}
	members := map[string]*zarr.Array{}
	for m, err := range g.Members(ctx, false) {
		if err = errors.Join(err, m.Err); err != nil {
			return nil, err
		}
		members[m.Path] = m.Node.(*zarr.Array)
	}
	f, err := belong(ctx, members, true)
	if !refresh || err != nil {
		return f, err
	}
	for _, a := range members {
		if err := a.Refresh(ctx); err != nil {
			return nil, err
		}
	}
	return belong(ctx, members, false)
}

// belong reads the arrays and checks that they belong together: up to the end of the
// shortest one or, if they are to be equally long, up to the end of each.
func belong(ctx context.Context, members map[string]*zarr.Array, equal bool) (*found, error) {
	data, lengths := map[string][]int32{}, []int{}
	for name := range groupSpecs() {
		a := members[name]
		if a == nil {
			return nil, fmt.Errorf("wrong: the group has no array %q", name)
		}
		b, err := zarr.Read[int32](ctx, a, nil)
		if err != nil {
			return nil, err
		}
		data[name], lengths = b.Data, append(lengths, int(b.Shape[0]))
	}
	least := slices.Min(lengths)
	if most := slices.Max(lengths); equal && most != least {
		return nil, fmt.Errorf("wrong: one array has %d rows, and another one %d", least, most)
	}
	rows := data["time"][:least]
	if got := data["planes"][:planeColumns*least]; !slices.Equal(got, planes(rows)) {
		return nil, fmt.Errorf("wrong: the times are %v, and the planes %v", rows, got)
	}
	if got := data["shards"][:least]; !slices.Equal(got, negative(rows)) {
		return nil, fmt.Errorf("wrong: the times are %v, and the shards have %v", rows, got)
	}
	counts, err := count(0, rows)
	return &found{rows: counts}, err
}

// last is the number of the program that appends to a group after all others.
const last = 19

// finalGroup appends to a group once more, and reads it. Then all arrays are equally long
// in their own documents as well.
func finalGroup(ctx context.Context, location string) (*found, error) {
	g, err := zarr.OpenGroup(ctx, location, &zarr.Options{Write: true})
	if err != nil {
		return nil, err
	}
	defer g.Close()
	if err := join(ctx, g, batch(last, 0)); err != nil {
		return nil, fmt.Errorf("the next append: %w", err)
	}
	if err := g.Unconsolidated().CheckDimensions(ctx); err != nil {
		return nil, fmt.Errorf("after the next append: %w", err)
	}
	f, err := look(ctx, g.At(""), true)
	if err == nil && f.rows[last] != batchRows {
		err = fmt.Errorf("wrong: the next append has %d rows, want %d", f.rows[last], batchRows)
	}
	return f, err
}
