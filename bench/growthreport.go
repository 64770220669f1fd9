// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// growth is the results of all series.
type growth struct {
	Machine machine
	Series  []grown
}

// grown is a series with its results.
type grown struct {
	ID, Title  string
	Across, Up axis
	Places     []place
}

// place is a measured point of a series.
type place struct {
	X, Per float64
	measured
}

// save writes tables, figures and plots, or prints only the tables.
func (g *growth) save(name string) error {
	if name != "" {
		if err := g.draw(filepath.Dir(name)); err != nil {
			return err
		}
	}
	return save(name, g)
}

// draw writes the plots below a folder.
func (g *growth) draw(dir string) error {
	if err := os.MkdirAll(filepath.Join(dir, plots), 0o777); err != nil {
		return err
	}
	for _, s := range g.Series {
		if err := os.WriteFile(filepath.Join(dir, s.plot()), s.chart().svg(), 0o666); err != nil {
			return err
		}
	}
	return nil
}

// plots is the folder of the plots, beside the tables.
const plots = "plots"

// plot returns the path of a plot, relative to the tables.
func (g grown) plot() string { return plots + "/" + strings.ReplaceAll(g.ID, "/", "-") + ".svg" }

// questions are the headings.
var questions = map[string]string{
	"chunk-count": "How many chunks", "chunk-size": "How large a chunk", "array-size": "How large an array", "concurrency": "How many at a time",
}

func (g *growth) markdown(w io.Writer) {
	fmt.Fprint(w, "# How cost grows\n\n")
	g.Machine.markdown(w)
	fmt.Fprint(w, growing)
	last := ""
	for _, s := range g.Series {
		if q := question(s.ID); q != last {
			last = q
			fmt.Fprintf(w, "\n## %s\n", questions[q])
		}
		s.markdown(w)
	}
}

// growing explains the figures of the tables.
const growing = `
The programs take turns on the same stores. Each figure is the median of all rounds. ± is half of the difference between the slowest
and the fastest round; in the plots thin bars show both. Time is that of the work, from opening the store on. Work that takes longer
than a few seconds is measured once. All answers were checked, except for "limit", which moves the same bytes, or decodes the same
frames, without Zarr. "Ideal" is the least time that a far store needs with this number of concurrent requests. Arrays that grow have
a document and no stored chunks. Nothing is synced. The time of an append includes its share of opening the array.
`

func (g grown) markdown(w io.Writer) {
	fmt.Fprintf(w, "\n### %s\n\n![%s: %s by %s](%s)\n\n| %s |", g.Title, g.Title, g.Up.Title, g.Across.Title, g.plot(), g.Across.Title)
	all := g.curves()
	for _, c := range all {
		fmt.Fprintf(w, " %s |", c.name)
	}
	fmt.Fprintf(w, "\n|--:|%s\n", strings.Repeat("--:|", len(all)))
	for _, p := range g.Places {
		fmt.Fprintf(w, "| %s |", g.Across.Unit.spell(p.X))
		for _, c := range all {
			fmt.Fprintf(w, " %s |", c.cell(p.X, g.Up.Unit))
		}
		fmt.Fprintln(w)
	}
	fmt.Fprint(w, "| last ÷ first |")
	for _, c := range all {
		fmt.Fprintf(w, " %s |", times(c.marks[len(c.marks)-1].y, c.marks[0].y))
	}
	fmt.Fprintln(w)
	if notes := g.notes(); len(notes) > 0 {
		fmt.Fprintf(w, "\nWithout figures: %s\n", strings.Join(notes, " "))
	}
}

// cell returns the contents of a table cell.
func (c curve) cell(x float64, u unit) string {
	for _, m := range c.marks {
		if m.x == x && m.least == m.most {
			return u.spell(m.y)
		}
		if m.x == x {
			return fmt.Sprintf("%s ± %.0f %%", u.spell(m.y), 100*m.spread)
		}
	}
	return "–"
}

// notes returns the reasons why candidates have no figures, once for each reason. It
// omits the limit.
func (g grown) notes() (all []string) {
	for _, p := range g.Places {
		for _, r := range p.Results {
			note := fmt.Sprintf("%s: %s.", r.Candidate, strings.TrimSuffix(r.Why, "."))
			if r.Why != "" && !r.Bound && !slices.Contains(all, note) {
				all = append(all, note)
			}
		}
	}
	return all
}

// curves returns the results of all candidates that have any, and the ideal.
func (g grown) curves() (all []curve) {
	if len(g.Places) == 0 {
		return nil
	}
	for i, r := range g.Places[0].Results {
		c := curve{name: r.Candidate}
		for _, p := range g.Places {
			if f := p.Results[i].figures; p.Results[i].Why == "" && f.Median > 0 {
				c.marks = append(c.marks, p.mark(g.Up.Unit, f))
			}
		}
		all = append(all, c)
	}
	ideal := curve{name: "ideal"}
	for _, p := range g.Places {
		if p.Ideal > 0 {
			ideal.marks = append(ideal.marks, p.mark(g.Up.Unit, figures{Median: p.Ideal, Least: p.Ideal, Most: p.Ideal}))
		}
	}
	return slices.DeleteFunc(append(all, ideal), func(c curve) bool { return len(c.marks) == 0 })
}

// mark returns the point of a candidate's figures in a chart.
func (p place) mark(u unit, f figures) mark {
	if u == rated {
		rate := func(seconds float64) float64 { return float64(f.Bytes) / seconds / 1e9 }
		return mark{p.X, rate(f.Median), rate(f.Most), rate(f.Least), f.spread()}
	}
	return mark{p.X, f.Median / p.Per, f.Least / p.Per, f.Most / p.Per, f.spread()}
}

// chart draws the series.
func (g grown) chart() chart { return chart{g.Title, g.Across, g.Up, g.curves()} }
