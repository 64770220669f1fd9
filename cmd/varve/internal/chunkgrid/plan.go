// SPDX-License-Identifier: Apache-2.0

package chunkgrid

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/argument"
	"varve.dev/zarr/cmd/varve/internal/chunking"
	"varve.dev/zarr/cmd/varve/internal/facts"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/flagtext"
	"varve.dev/zarr/cmd/varve/internal/input"
	"varve.dev/zarr/cmd/varve/internal/output"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/cmd/varve/internal/usage"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/export"
)

// planFlags has the flags of varve plan.
type planFlags struct{ shape, dtype, target, chunks string }

// NewPlan returns the command plan.
func NewPlan() *cobra.Command {
	c := &cobra.Command{
		Use:   "plan --shape SHAPE --dtype TYPE",
		Short: "Propose chunks and shards for a new array, and count the objects they make",
		Long: `Propose chunks and shards for a new array, and count the objects they make. Nothing is written.

There are two proposals: one without shards, where every chunk is an object, and one with shards, where an object holds
many chunks that can be read separately. --target is the size of an object. --chunks is what one read needs, such as
64, [64,64,128] or 256KiB. The defaults are those of create: chunks of at most about 1 MiB, larger ones for large
arrays without shards, and shards of 512 MiB with chunks of 1 MiB. All sizes are in memory, before compression.`,
		Example: `  varve plan --shape 1826,721,1440 --dtype float32 --target 8MiB
  varve plan --shape 25000,18000,6000 --dtype uint8 --chunks 64 --target 8GiB`,
		Args: usage.Arguments(),
	}
	f := new(planFlags)
	argument.ShapeFlag(c, &f.shape, "the `LENGTHS` of all axes, such as 60,100; empty for rank 0")
	flagtext.Var(c.Flags(), &f.dtype, "dtype", "", "data `TYPE`, as for create: int8, float32, >i4, string …", flagtext.Syntax(input.ParseType))
	flagtext.Var(c.Flags(), &f.target, "target", "", "the `SIZE` of an object in memory, such as 8MiB", flagtext.Syntax(phrase.ParseSize))
	flagtext.Var(c.Flags(), &f.chunks, "chunks", "auto", "the `CHUNKS` that one read needs: auto, 256KiB, 64 or [64,64,128]", flagtext.Syntax(parseEven))
	flagtext.Propose(c, "target", "1MiB", "8MiB", "64MiB", "512MiB", "8GiB")
	flagtext.Propose(c, "chunks", "auto", "256KiB", "1MiB")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		for _, flag := range []string{"shape", "dtype"} {
			if !cmd.Flags().Changed(flag) {
				return failure.BadUsage("--%s is missing", flag)
			}
		}
		p, err := f.plan()
		if err != nil {
			return err
		}
		if session.WantsJSON(cmd) {
			return session.PrintJSON(cmd, p)
		}
		return p.sheet().Print(cmd.OutOrStdout())
	}
	return c
}

// parseEven parses --chunks, and refuses all but chunks of one length along each axis.
func parseEven(text string) (chunking.Chunking, error) {
	c, err := chunking.Parse(text)
	if err == nil && (c.Object != nil || c.Axes != nil || c.Trimmed) {
		err = fmt.Errorf("give auto, a size such as 256KiB, or lengths such as 64 or [64,64,128]")
	}
	return c, err
}

// plan describes an array with the proposed chunks, in the form of --json. Numbers that
// do not fit 64 bits are null.
type plan struct {
	Shape    []int64      `json:"shape"`
	DataType string       `json:"data_type"`
	Target   *int64       `json:"target_bytes"`
	Chunks   []int64      `json:"chunks"`
	Shards   []int64      `json:"shards"` // null: this proposal has none
	Grid     []int64      `json:"grid_shape"`
	Chunk    int64        `json:"chunk_bytes"`
	Objects  *int64       `json:"objects"` // all chunks and the document
	Logical  *int64       `json:"bytes_logical"`
	Sharded  *shardedPlan `json:"sharded"`
	Notes    []string     `json:"notes"`
}

// shardedPlan describes an array with the proposed shards.
type shardedPlan struct {
	Chunks   []int64 `json:"chunks"`
	Shards   []int64 `json:"shards"`
	Grid     []int64 `json:"grid_shape"` // of shards
	Chunk    int64   `json:"chunk_bytes"`
	Shard    int64   `json:"shard_bytes"`
	PerShard int64   `json:"chunks_per_shard"`
	Inner    *int64  `json:"inner_chunks"`
	Objects  *int64  `json:"objects"` // all shards and the document
	Advice   *string `json:"advice"`  // why shards are not worthwhile, else null
}

func (f *planFlags) plan() (*plan, error) {
	shape, err := argument.ParseShape(f.shape)
	if err != nil {
		return nil, err
	}
	named, err := input.ParseType(f.dtype)
	if err != nil {
		return nil, err
	}
	t := named.Type
	// Errors must name the flag of this command, not --shards of create.
	s := chunking.Shards{Shards: chunking.Chunking{Flag: "--target", Text: f.target}}
	p := &plan{Shape: shape, DataType: t.Name()}
	if s.Inner, err = parseEven(f.chunks); err != nil {
		return nil, err
	}
	if f.target != "" {
		if s.Shards.Size, err = phrase.ParseSize(f.target); err != nil {
			return nil, err
		}
		p.Target = &s.Shards.Size
	}
	if c := s.Inner; c.Size > 0 && p.Target != nil && c.Size > *p.Target {
		return nil, failure.BadUsage("--chunks %s is larger than --target %s", c.Text, f.target)
	}
	if p.Chunks, err = unsharded(s, shape, export.Width(t)); err != nil {
		return nil, err
	}
	if err := p.measure(t); err != nil {
		return nil, err
	}
	p.Sharded, err = shardedPlanOf(s, shape, export.Width(t))
	return p, err
}

// unsharded returns the chunks of the proposal without shards.
func unsharded(s chunking.Shards, shape []int64, size int64) (chunks []int64, err error) {
	switch {
	case s.Inner.Lengths != "":
		chunks, err = s.Inner.Steps(shape)
		return chunks, s.Inner.Refused(err)
	case s.Inner.Size > 0:
		chunks, err = grid.Target(chunking.GrownTo(shape, size, s.Inner.Size), size, s.Inner.Size)
		return chunks, s.Inner.Refused(err)
	case s.Shards.Size > 0:
		chunks, err = grid.Target(chunking.GrownTo(shape, size, s.Shards.Size), size, s.Shards.Size)
		return chunks, s.Shards.Refused(err)
	}
	return chunking.Auto(shape, size), nil
}

// shardedPlanOf returns the proposal with shards and its numbers.
func shardedPlanOf(s chunking.Shards, shape []int64, size int64) (*shardedPlan, error) {
	p, err := s.Proposal(shape, size)
	if err != nil {
		return nil, err
	}
	g, err := grid.New(shape, grid.Chunks(p.Shard...)...)
	if err != nil {
		return nil, s.Shards.Refused(err)
	}
	plan := &shardedPlan{
		Chunks: p.Chunk, Shards: p.Shard, Grid: g.Chunks(), Chunk: p.ChunkBytes, Shard: p.ShardBytes, PerShard: p.PerShard, Advice: output.Present(p.Advice),
	}
	inner, err := grid.New(shape, grid.Chunks(p.Chunk...)...)
	if err != nil {
		return nil, s.Shards.Refused(err)
	}
	if n, ok := inner.NumChunks(); ok {
		plan.Inner = &n
	}
	plan.Objects = objects(g)
	return plan, nil
}

// objects returns the number of objects if all chunks of a grid are stored: the chunks
// and the document. It is nil if the number does not fit 64 bits.
func objects(g *grid.Grid) *int64 {
	n, ok := g.NumChunks()
	if ok {
		n, ok = checked.Add(n, 1)
	}
	if !ok {
		return nil
	}
	return &n
}

// measure sets the numbers of the proposal without shards.
func (p *plan) measure(t dtype.Type) error {
	g, err := grid.New(p.Shape, grid.Chunks(p.Chunks...)...)
	if err != nil {
		return failure.BadArgument("%w", err)
	}
	p.Grid, p.Objects = g.Chunks(), objects(g)
	p.Notes = append([]string{}, phrase.Padding(g, "--chunks")...)
	product := func(n ...int64) (int64, bool) { return checked.Product(append(n, export.Width(t))...) }
	var ok bool
	if p.Chunk, ok = product(p.Chunks...); !ok {
		return fmt.Errorf("%w: the bytes of a chunk", zarr.ErrOverflow)
	}
	if n, ok := product(p.Shape...); ok {
		p.Logical = &n
	}
	return nil
}

func (p *plan) sheet() *facts.Sheet {
	s := &facts.Sheet{Title: "plan for " + phrase.Shape(p.Shape) + " of " + p.DataType}
	create := fmt.Sprintf("varve create NODE --shape '%s' --dtype %s", commas(p.Shape), p.DataType)
	s.Add("size", countable(p.Logical, phrase.Bytes))
	s.Add("chunks", phrase.Shape(p.Chunks)+", "+phrase.Bytes(p.Chunk)+" each")
	s.Add("grid", phrase.Shape(p.Grid))
	s.Add("objects", objectsText(p.Objects, "chunk"))
	s.Add("create", fmt.Sprintf("%s --chunks '[%s]'", create, commas(p.Chunks)))
	for i, text := range p.Notes {
		s.Add(facts.Label("notes", i), text)
	}
	p.Sharded.add(s, create)
	return s
}

// add adds the proposal with shards, or only the reason why shards are not worthwhile.
func (p *shardedPlan) add(s *facts.Sheet, create string) {
	// A shard with one chunk only adds an index to it.
	if p.PerShard == 1 && p.Advice != nil {
		s.Add("with shards", *p.Advice)
		return
	}
	s.Add("with shards", phrase.Shape(p.Shards)+", "+phrase.Bytes(p.Shard)+" each")
	s.Add("  chunks", fmt.Sprintf("%s, %s each, %s in a shard", phrase.Shape(p.Chunks), phrase.Bytes(p.Chunk), phrase.Count(p.PerShard)))
	s.Add("  grid", phrase.Shape(p.Grid))
	s.Add("  objects", objectsText(p.Objects, "shard"))
	s.Add("  holding", countable(p.Inner, func(n int64) string { return phrase.Plural(n, "chunk") }))
	if p.Advice != nil {
		s.Add("  but", *p.Advice)
	}
	s.Add("  create", fmt.Sprintf("%s --shards '[%s]' --chunks '[%s]'", create, commas(p.Shards), commas(p.Chunks)))
}

// objectsText describes a number of objects.
func objectsText(n *int64, noun string) string {
	return countable(n, func(n int64) string { return phrase.Plural(n-1, noun) + " if all are stored, and the metadata" })
}

// countable returns the text of a number; nil stands for one that is too large.
func countable(n *int64, text func(int64) string) string {
	if n == nil {
		return "more than 64 bits can count"
	}
	return text(*n)
}

// commas returns numbers separated by commas.
func commas(numbers []int64) string {
	parts := make([]string, len(numbers))
	for i, n := range numbers {
		parts[i] = fmt.Sprint(n)
	}
	return strings.Join(parts, ",")
}
