// SPDX-License-Identifier: Apache-2.0

package arrays

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"varve.dev/zarr/internal/test/fixture"
)

// Crowd lets up to sixteen processes at once change and read what each scene has, and
// kills some of them: nothing that was acknowledged may be lost, nothing may be there
// twice, and no reader may find anything else. at returns the location of a scene at the
// URL of a server. Nothing is there before.
func Crowd(t *testing.T, server string, at func(url, name string) string, scenes ...*Scene) {
	for _, s := range scenes {
		t.Run(s.name, func(t *testing.T) { run(t, at(server, s.name), s, nil) })
	}
}

// CrowdWithFaults is [Crowd] behind a proxy that does harm to one in rate requests. Then
// programs may also end with an error.
func CrowdWithFaults(t *testing.T, server string, rate int, at func(url, name string) string, scenes ...*Scene) {
	for _, s := range scenes {
		t.Run(s.name, func(t *testing.T) {
			proxy := newProxy(t, server, rate, rand.Uint64())
			run(t, at(proxy.url, s.name), s, proxy)
		})
	}
}

func run(t *testing.T, location string, s *Scene, p *proxy) {
	t.Helper()
	c := &crowd{t: t, location: location, faults: p != nil}
	if err := s.create(t.Context(), location); err != nil {
		t.Fatal(err)
	}
	if p != nil {
		p.harm(true)
	}
	times := 1
	if fixture.Long() {
		times = 4
	}
	for _, part := range s.cast {
		for i := range part.programs {
			c.start(role{part.kind, i, times * part.steps, location}, i < part.killed)
		}
	}
	c.wait()
	if p != nil {
		p.harm(false)
		p.check(t)
	}
	f, err := s.final(t.Context(), location)
	if err != nil {
		t.Fatal(err)
	}
	c.judge(f)
}

// crowd is one run.
type crowd struct {
	t        *testing.T
	location string
	faults   bool
	programs []*program
	busy     sync.WaitGroup // programs that end by themselves or are killed soon
	all      sync.WaitGroup
}

// program is a process of a crowd.
type program struct {
	role
	cmd    *exec.Cmd
	killed bool
	done   int // steps that were acknowledged
}

// start starts a program, which is perhaps killed before its end.
func (c *crowd) start(r role, kill bool) {
	c.t.Helper()
	p := &program{role: r, killed: kill || r.isReader(), cmd: exec.CommandContext(c.t.Context(), os.Args[0])}
	if r.isReader() {
		p.times = 1 << 30
	}
	p.cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d %d", roleName, r.kind, r.number, p.times), locationName+"="+r.location, "GOMAXPROCS=1")
	out, err := p.cmd.StdoutPipe()
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		c.t.Fatal(err)
	}
	c.programs = append(c.programs, p)
	if kill {
		time.AfterFunc(300*time.Millisecond+rand.N(3*time.Second), func() { _ = p.cmd.Process.Kill() }) // it may have ended
	}
	if !r.isReader() {
		c.busy.Add(1)
	}
	c.all.Go(func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			c.hear(p, lines.Text())
		}
		if err := p.cmd.Wait(); err != nil && !p.killed {
			c.t.Errorf("%s %d: %v", p.kind, p.number, err)
		}
		if !r.isReader() {
			c.busy.Done()
		}
	})
}

// hear is called with what a program prints.
func (c *crowd) hear(p *program, line string) {
	what, rest, _ := strings.Cut(line, " ")
	n, err := strconv.Atoi(rest)
	switch {
	case what == "done" && err == nil && n == p.done:
		p.done++
	case what == "error" && c.faults && !strings.Contains(rest, "wrong:"):
		c.t.Log(rest)
	default:
		c.t.Errorf("%s %d says %q", p.kind, p.number, line)
	}
}

// wait waits for the programs that end, and kills the readers then.
func (c *crowd) wait() {
	c.busy.Wait()
	for _, p := range c.programs {
		if p.isReader() {
			_ = p.cmd.Process.Kill() // with faults it may have ended
		}
	}
	c.all.Wait()
}

// judge compares what is there with what was acknowledged.
func (c *crowd) judge(f *found) {
	var counts []string
	for _, p := range c.programs {
		is, part := f.steps(p)
		counts = append(counts, fmt.Sprintf("%s %d", p.kind, p.done))
		// A program that ended early may have done what it could not tell.
		early := p.done < p.times
		if ok := is == p.done && !part; !ok && (!early || is != p.done && is != p.done+1) {
			c.t.Errorf("%s %d: %d steps were acknowledged, and %d are there (and a part: %t)", p.kind, p.number, p.done, is, part)
		}
	}
	c.t.Log(strings.Join(counts, ", "))
}
