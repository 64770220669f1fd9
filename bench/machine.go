// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// machine describes the machine and the programs.
type machine struct {
	Date      string
	System    string
	Processor string
	Cores     int
	Memory    string
	Size      string
	Rounds    int
	Cold      bool
	Load      string // of the machine at the start
	Versions  []string
	Missing   []string // candidates that are not installed
}

func describe(s settings, missing []string) machine {
	return machine{
		Date: time.Now().Format("2006-01-02"), System: system(), Processor: field("/proc/cpuinfo", "model name"), Cores: runtime.NumCPU(),
		Memory: field("/proc/meminfo", "MemTotal"), Size: s.size.name, Rounds: s.rounds, Cold: s.cold, Load: load(),
		Versions: versions(s.cache), Missing: missing,
	}
}

func system() string {
	release, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	return strings.TrimSpace(runtime.GOOS + "/" + runtime.GOARCH + " " + string(release))
}

// field returns the value of the first line of a file that begins with a name.
func field(file, name string) string {
	data, _ := os.ReadFile(file)
	for line := range strings.Lines(string(data)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}

// load returns the mean number of running processes of the last minute.
func load() string {
	data, _ := os.ReadFile("/proc/loadavg")
	one, _, _ := strings.Cut(string(data), " ")
	return one
}

// versions returns the versions of the programs. bench/setup writes one line for each.
func versions(cache string) []string {
	all := []string{"Varve " + commit(), runtime.Version()}
	data, _ := os.ReadFile(filepath.Join(cache, "versions"))
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); line != "" {
			all = append(all, line)
		}
	}
	return all
}

// commit returns the commit of the source if Git knows it.
func commit() string {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty").Output()
	if err != nil {
		return "of unknown state"
	}
	return string(bytes.TrimSpace(out))
}
