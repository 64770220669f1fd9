// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"strings"
)

// effects is the measured cost and benefit of options.
type effects report

// trying explains the figures of the tables.
const trying = `
Options are the fields of zarr.Options. The settings take turns on the same stores. Each figure is the median of all rounds. ± is
half of the difference between the slowest and the fastest round. Time is that of the work, from opening the store on. CPU is the
seconds of all cores in that time, and memory the peak of the process. Work that takes longer than a few seconds is measured once.
A far store answers each request after %s and transfers %.0f MB per second. Requests and bytes are those of one run. All answers
were checked.
`

func (e *effects) markdown(w io.Writer) {
	fmt.Fprint(w, "# What options cost and gain\n\n")
	e.Machine.markdown(w)
	fmt.Fprintf(w, trying, duration(latency.Seconds()), bandwidth/1e6)
	last := ""
	for _, m := range e.Rows {
		o := optionOf(m.ID)
		if o.id != last {
			last = o.id
			fmt.Fprintf(w, "\n## %s\n\n%s\n", o.name, o.text)
		}
		m.effect(w, o.name)
	}
}

// effect writes the table of one row, with a line for every setting.
func (m measured) effect(w io.Writer, name string) {
	far, more, rule := m.far(), "", ""
	if far {
		more, rule = " requests | received |", "--:|--:|"
	}
	fmt.Fprintf(w, "\n### %s%s\n\n", strings.ToUpper(m.Title[:1]), m.Title[1:])
	fmt.Fprintf(w, "| %s | time | ± | ÷ default | CPU | memory |%s\n|--:|--:|--:|--:|--:|--:|%s\n", name, more, rule)
	for _, r := range m.Results {
		if r.Why != "" {
			fmt.Fprintf(w, "| %s | %s |\n", r.Candidate, r.Why)
			continue
		}
		fmt.Fprintf(w, "| %s | %s | %.0f %% | %s | %s | %s |", r.Candidate, duration(r.Median), 100*r.spread(),
			times(r.Median, m.Results[0].Median), duration(r.CPU), memory(r.Peak))
		if far {
			fmt.Fprintf(w, " %d | %s |", r.Requests, memory(r.Received))
		}
		fmt.Fprintln(w)
	}
}
