package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
)

func newPlanCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "plan --shape SHAPE --dtype TYPE",
		Short: "Propose chunks for an array that is still to be created, and count the objects they make",
		Long: `Propose chunks for an array that is still to be created, and count the objects they make. Nothing is written.

Without --target the chunks are those of create: about 1 MiB and less, more for large arrays. Shards are not proposed yet.`,
		Example: `  varve plan --shape 1826,721,1440 --dtype float32 --target 8MiB`,
		Args:    arguments(),
	}
	var shape, name, target string
	shapeFlag(c, &shape, "length of every axis, `60,100`; empty for rank 0")
	checkedVar(c.Flags(), &name, "dtype", "", "data `TYPE`: bool, int8 … uint64, float16 … float64, complex64, complex128, r24", syntax(parseType))
	checkedVar(c.Flags(), &target, "target", "", "the `SIZE` of a chunk in memory, as 8MiB", syntax(parseSize))
	propose(c, "target", "1MiB", "8MiB", "64MiB")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		for _, flag := range []string{"shape", "dtype"} {
			if !cmd.Flags().Changed(flag) {
				return badUsage("--%s is missing", flag)
			}
		}
		p, err := newPlan(shape, name, target)
		if err != nil {
			return err
		}
		if wantsJSON(cmd) {
			return printJSON(cmd, p)
		}
		return p.sheet().print(cmd.OutOrStdout())
	}
	return c
}

// plan is what an array with the proposed chunks is like. Numbers beyond 64 bits are null.
type plan struct {
	Shape    []int64 `json:"shape"`
	DataType string  `json:"data_type"`
	Target   *int64  `json:"target_bytes"`
	Chunks   []int64 `json:"chunks"`
	Shards   []int64 `json:"shards"` // null: there are none yet
	Grid     []int64 `json:"grid_shape"`
	Chunk    int64   `json:"chunk_bytes"`
	Objects  *int64  `json:"objects"` // chunks, if all are stored, and the document
	Logical  *int64  `json:"bytes_logical"`
}

func newPlan(shapeText, typeName, target string) (*plan, error) {
	shape, err := parseShape(shapeText)
	if err != nil {
		return nil, err
	}
	t, err := parseType(typeName)
	if err != nil {
		return nil, err
	}
	p := &plan{Shape: shape, DataType: t.Name()}
	if target == "" {
		p.Chunks = grid.Auto(shape, int64(t.Size()))
	} else {
		bytes, err := parseSize(target)
		if err != nil {
			return nil, err
		}
		p.Target = &bytes
		if p.Chunks, err = grid.Target(shape, int64(t.Size()), bytes); err != nil {
			return nil, badArgument("%w", err)
		}
	}
	return p, p.measure(t)
}

// measure counts what the chunks make.
func (p *plan) measure(t dtype.Type) error {
	g, err := grid.Regular(p.Shape, p.Chunks)
	if err != nil {
		return badArgument("%w", err)
	}
	p.Grid = g.Chunks()
	product := func(n ...int64) (int64, bool) { return checked.Product(append(n, int64(t.Size()))...) }
	var ok bool
	if p.Chunk, ok = product(p.Chunks...); !ok {
		return fmt.Errorf("%w: the bytes of a chunk", zarr.ErrOverflow)
	}
	if n, ok := g.NumChunks(); ok {
		if n, ok = checked.Add(n, 1); ok {
			p.Objects = &n
		}
	}
	if n, ok := product(p.Shape...); ok {
		p.Logical = &n
	}
	return nil
}

func (p *plan) sheet() *sheet {
	number := func(n *int64, text func(int64) string) string {
		if n == nil {
			return "more than 64 bits can count"
		}
		return text(*n)
	}
	s := &sheet{title: "plan for " + shapeText(p.Shape) + " of " + p.DataType}
	s.add("size", number(p.Logical, byteCount))
	s.add("chunks", shapeText(p.Chunks)+", "+byteCount(p.Chunk)+" each")
	s.add("grid", shapeText(p.Grid))
	s.add("objects", number(p.Objects, func(n int64) string {
		return plural(n-1, "chunk") + ", if all are stored, and the metadata"
	}))
	s.add("shards", "not supported yet")
	s.add("create", fmt.Sprintf("varve create NODE --shape '%s' --dtype %s --chunks '[%s]'", commas(p.Shape), p.DataType, commas(p.Chunks)))
	return s
}

// commas returns numbers as flags take them.
func commas(numbers []int64) string {
	parts := make([]string, len(numbers))
	for i, n := range numbers {
		parts[i] = fmt.Sprint(n)
	}
	return strings.Join(parts, ",")
}
