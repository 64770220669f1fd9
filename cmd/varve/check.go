package main

import (
	"bufio"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/codec"
)

// mostFaults is how many faults are told one by one.
const mostFaults = 1000

func newCheckCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "check NODE",
		Short: "Look for damage in the stored chunks of an array; status 1 where there is any",
		Long: `Look for damage in the stored chunks of an array; status 1 where there is any.

Every stored chunk is read and decoded. Of a shard the index and all inner chunks are looked at: each has to lie within the shard,
to have its bytes for itself and to decode. Bytes that belong to nothing are counted and are no damage; varve compact --shards
gives them back. What has no checksum can be wrong all the same, unseen.`,
		Example: `  varve check era5.zarr/t2m
  varve check era5.zarr/t2m --index-only --json`,
		Args:              arguments("NODE"),
		ValidArgsFunction: completeNode,
	}
	only := c.Flags().Bool("index-only", false, "look at the indexes of shards, and decode nothing")
	c.Flags().Bool("dry-run", false, "change nothing, which check never does")
	c.RunE = func(cmd *cobra.Command, args []string) error { return check(cmd, args[0], *only) }
	return c
}

// findings is what was found out about an array, as programs read it.
type findings struct {
	Path   string      `json:"path"`
	Chunks int64       `json:"chunks_stored"`
	Inner  int64       `json:"inner_chunks_stored"`
	Bytes  int64       `json:"bytes_stored"`
	Dead   int64       `json:"bytes_dead"`
	Faults int64       `json:"faults"`
	Bad    int64       `json:"chunks_damaged"`
	Found  []faultFact `json:"found"` // in the order of chunks
}

// faultFact is one fault. Of a chunk with very many the last stands for those that are not told.
type faultFact struct {
	Key     string    `json:"key"`
	Chunk   []int64   `json:"chunk"`
	Inner   [][]int64 `json:"inner"` // leads to the inner chunk
	Off     int64     `json:"offset"`
	Len     int64     `json:"length"`
	Shared  bool      `json:"shared"`
	Kind    *string   `json:"kind"` // null where bytes are only shared
	Message string    `json:"message"`
}

func check(cmd *cobra.Command, location string, indexOnly bool) error {
	a, err := openArray(cmd, location)
	if err != nil {
		return err
	}
	defer a.Close()
	chunks, _ := a.Grid().NumChunks()
	p := newProgress(cmd, "chunks", chunks)
	p.text = count
	c := findings{Path: location, Found: []faultFact{}}
	opt := &zarr.CheckOptions{IndexOnly: indexOnly, Progress: func(_ []int64, found *codec.Check) {
		p.add(1)
		c.add(found)
	}}
	for f, err := range a.CheckShards(cmd.Context(), opt) {
		if err != nil {
			p.end()
			return err
		}
		if len(c.Found) < mostFaults {
			c.Found = append(c.Found, factOf(f))
		}
	}
	p.end()
	slices.SortStableFunc(c.Found, func(x, y faultFact) int { return slices.Compare(x.Chunk, y.Chunk) })
	if err := c.print(cmd, a.Inner() != nil); err != nil {
		return err
	}
	if c.Faults > 0 {
		return verdict(fmt.Sprintf("check %s: %s in %s of %s", location, plural(c.Faults, "fault"), count(c.Bad), plural(c.Chunks, "stored chunk")))
	}
	return nil
}

// add adds what was found out about one chunk.
func (c *findings) add(found *codec.Check) {
	c.Chunks++
	c.Inner += found.Inner
	c.Bytes += found.Bytes
	c.Dead += found.Dead
	if n := int64(len(found.Faults)) + found.More; n > 0 {
		c.Faults += n
		c.Bad++
	}
}

func factOf(f zarr.ShardFault) faultFact {
	fact := faultFact{Key: f.Key, Chunk: f.Shard, Inner: f.Inner, Off: f.Off, Len: f.Len, Shared: f.Shared, Message: f.Error()}
	if !f.Shared {
		fact.Kind = present(zarr.Kind(f.Err))
	}
	if fact.Inner == nil {
		fact.Inner = [][]int64{}
	}
	return fact
}

func (c *findings) print(cmd *cobra.Command, sharded bool) error {
	if wantsJSON(cmd) {
		return printJSON(cmd, c)
	}
	return buffered(cmd, func(w *bufio.Writer) error {
		for _, f := range c.Found {
			fmt.Fprintln(w, printable(f.Message))
		}
		what := plural(c.Chunks, "stored chunk")
		if sharded {
			what = fmt.Sprintf("%s with %s", plural(c.Chunks, "stored shard"), plural(c.Inner, "inner chunk"))
		}
		fmt.Fprintf(w, "%s  %s, %s", printable(c.Path), what, byteCount(c.Bytes))
		if c.Dead > 0 {
			fmt.Fprintf(w, ", of which %s belong to nothing (varve compact --shards)", byteCount(c.Dead))
		}
		_, err := fmt.Fprintf(w, ": %s\n", plural(c.Faults, "fault"))
		return err
	})
}
