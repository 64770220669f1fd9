// SPDX-License-Identifier: Apache-2.0

// Varve runs the benchmarks with Varve, in the way that its documentation recommends.
package main

import (
	"context"
	"fmt"
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
