// SPDX-License-Identifier: Apache-2.0

// Varve runs the benchmarks with Varve, in the way that its documentation recommends.
package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"os"

	"varve.dev/zarr"
	"varve.dev/zarr/bench/protocol"
	"varve.dev/zarr/store"
	_ "varve.dev/zarr/store/s3" // locations that begin with s3://
)

func main() {
	if err := run(context.Background(), os.Args); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// works maps every kind of work to its function.
var works = map[string]func(context.Context, protocol.Request) (protocol.Answer, error){
	protocol.ReadAll: readAll, protocol.ReadRegions: readRegions, protocol.ReadPoints: readPoints, protocol.Copy: copyAll,
	protocol.Append: appendPlanes, protocol.Open: openArray, protocol.Members: members,
	protocol.Rechunk: rechunkArray,
}

func run(ctx context.Context, args []string) error {
	r, err := protocol.Parse(args)
	if err != nil {
		return err
	}
	work, ok := works[r.Work]
	if !ok {
		return protocol.Answer{Unsupported: "no such work"}.Print(os.Stdout)
	}
	answer, err := work(ctx, r)
	if err != nil {
		return err
	}
	return answer.Print(os.Stdout)
}

// options returns the options for opening nodes. The program itself limits the number of
// concurrent regions.
func options(r protocol.Request) *zarr.Options {
	o := &zarr.Options{Budget: r.Budget, Shards: zarr.Shards{IndexCache: r.IndexCache, Gap: r.Gap}}
	if r.Regions == "" {
		o.Concurrency = r.Concurrency
	}
	if !r.Sync {
		o.Durability = store.Flush
	}
	return o
}

// writing returns the options for changing a node.
func writing(r protocol.Request) *zarr.Options {
	o := options(r)
	o.Write = true
	return o
}

func copyAll(ctx context.Context, r protocol.Request) (answer protocol.Answer, err error) {
	boxes, err := regions(r)
	if err != nil {
		return answer, err
	}
	var sum protocol.Sum
	sum.Limit = 1
	t := protocol.Start()
	from, err := zarr.OpenArray(ctx, r.Store, options(r))
	if err != nil {
		return answer, err
	}
	to, err := zarr.OpenArray(ctx, r.Target, writing(r))
	if err != nil {
		return answer, err
	}
	err = each(boxes, from.Type().Size(), r.Concurrency, func(i int, buffer []byte) error {
		if err := from.ReadBytes(ctx, boxes[i], buffer); err != nil {
			return err
		}
		sum.Add(i, buffer)
		return to.WriteBytes(ctx, boxes[i], buffer)
	})
	answer.Seconds, answer.CPU = t.Stop()
	answer.Bytes = sum.Bytes()
	return answer, err
}

// appendPlanes appends planes of float32 whose elements are all the number of the plane.
func appendPlanes(ctx context.Context, r protocol.Request) (answer protocol.Answer, err error) {
	t := protocol.Start()
	a, err := zarr.OpenArray(ctx, r.Target, writing(r))
	if err != nil {
		return answer, err
	}
	shape := a.Shape()
	plane := make([]byte, 4*shape[1]*shape[2])
	for i := range int64(r.Count) {
		bits := math.Float32bits(float32(shape[0] + i))
		for k := 0; k < len(plane); k += 4 {
			binary.NativeEndian.PutUint32(plane[k:], bits)
		}
		if err := a.AppendBytes(ctx, 0, plane, nil); err != nil {
			return answer, err
		}
	}
	answer.Seconds, answer.CPU = t.Stop()
	answer.Bytes = int64(r.Count) * int64(len(plane))
	return answer, nil
}
