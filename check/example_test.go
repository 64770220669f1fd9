// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"context"
	"fmt"
	"log"

	"varve.dev/zarr"
	"varve.dev/zarr/check"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
	"varve.dev/zarr/transfer"
)

// archive makes a group with a year of daily temperatures in monthly chunks, and cuts off
// the end of the chunk of March, as a full disk does.
func archive(ctx context.Context) *zarr.Group {
	s := memstore.New()
	g, err := zarr.At(s, "").CreateGroup(ctx, nil, nil)
	if err != nil {
		log.Fatal(err)
	}
	months := grid.Edges(31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
	spec := zarr.Spec{Shape: []int64{365}, Type: dtype.Float32, Chunks: []grid.Cut{months}}
	t2m, err := g.At("t2m").CreateArray(ctx, spec, nil)
	if err != nil {
		log.Fatal(err)
	}
	if err := zarr.Fill(ctx, t2m, nil, float32(280)); err != nil {
		log.Fatal(err)
	}
	march := store.MustKey("t2m/c/2")
	data, _, err := s.Get(ctx, march, store.Request{}, nil)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := store.Write(ctx, s, store.Put(march, data[:len(data)/2]), store.Sync); err != nil {
		log.Fatal(err)
	}
	return g
}

func ExampleRun() {
	ctx := context.Background()
	g := archive(ctx)
	report, err := check.Run(ctx, g, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(report.Checked.Chunks, "stored chunks,", report.Checked.Damaged, "damaged")
	for _, f := range report.Findings {
		fmt.Println(f.Kind, f.Path, f.Key, f.Chunk)
	}
	// Output:
	// 12 stored chunks, 1 damaged
	// corrupt t2m t2m/c/2 [2]
}

// Each task of an array job checks a share and stores what it found. The last job reports
// on the whole.
func ExampleRunPart() {
	ctx := context.Background()
	g := archive(ctx)
	var parts [][]byte // in practice, files or objects
	for task := range int64(4) {
		part, err := check.RunPart(ctx, g, transfer.Share{Task: task, Of: 4}, nil)
		if err != nil {
			log.Fatal(err)
		}
		parts = append(parts, part)
	}
	report, err := check.Run(ctx, g, &check.Options{Parts: parts})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(report.Checked.Chunks, "stored chunks,", report.Checked.Damaged, "damaged")
	// Output:
	// 12 stored chunks, 1 damaged
}

func ExampleRepair() {
	ctx := context.Background()
	g := archive(ctx)
	if err := g.Consolidate(ctx); err != nil {
		log.Fatal(err)
	}
	// Another program, which does not know of the copies, adds an array.
	wind := `{"zarr_format":3,"node_type":"array","shape":[4],"data_type":"int8","fill_value":0,"codecs":["bytes"],
		"chunk_grid":{"name":"regular","configuration":{"chunk_shape":[4]}},"chunk_key_encoding":"default"}`
	s := g.Location().Store().(store.Writer)
	if _, err := s.Write(ctx, store.Put(store.MustKey("wind/zarr.json"), []byte(wind)), store.Sync); err != nil {
		log.Fatal(err)
	}
	done, err := check.Repair(ctx, g.Location(), nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range done {
		fmt.Println(r.Message, r.Err)
	}
	// Output:
	// consolidated metadata is up to date again <nil>
}
