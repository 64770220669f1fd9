// SPDX-License-Identifier: Apache-2.0

package manual

import (
	"embed"
	"fmt"
	"slices"
	"strings"
)

// Topic is a help text that is not about a single command. Commands are those whose help
// names the topic, and Examples has one command line per line.
type Topic struct {
	Name, Short, Title, Text, Examples string
	Commands                           []string
}

// texts has a file for each topic. Its first three lines are the title, the short text
// of lists, and the commands. The text follows after an empty line, and the examples
// after a line that says so.
//
//go:embed topics/*.txt
var texts embed.FS

// topicNames are the topics in the order in which the help lists them.
var topicNames = []string{
	"terms", "select", "chunks", "growth", "creating", "appending", "formats", "missing-values", "rechunking",
	"copying", "conditions", "pyramids", "checking", "virtual", "plans", "flags",
}

// Topics returns all topics.
func Topics() []Topic {
	topics := make([]Topic, len(topicNames))
	for i, name := range topicNames {
		data, err := texts.ReadFile("topics/" + name + ".txt")
		if err != nil {
			panic(err) // the list above and the folder differ
		}
		topics[i] = parseTopic(name, string(data))
	}
	return topics
}

// parseTopic parses the file of a topic.
func parseTopic(name, file string) Topic {
	head, text, _ := strings.Cut(file, "\n\n")
	lines := strings.Split(head, "\n")
	text, examples, _ := strings.Cut(text, "\nExamples:\n")
	return Topic{
		Name: name, Title: lines[0], Short: lines[1], Commands: strings.Fields(strings.Join(lines[2:], " ")),
		Text: strings.Trim(text, "\n"), Examples: strings.TrimRight(examples, "\n"),
	}
}

// FlagsTopic is the name of the topic that lists the flags of all commands.
const FlagsTopic = "flags"

// TopicsOf returns the names of the topics about a command.
func (p *Program) TopicsOf(command string) []string {
	var names []string
	for _, t := range p.Topics {
		if slices.Contains(t.Commands, command) {
			names = append(names, t.Name)
		}
	}
	return names
}

// addFlags adds the flags of all commands to the topic about them.
func (p *Program) addFlags() {
	i := slices.IndexFunc(p.Topics, func(t Topic) bool { return t.Name == FlagsTopic })
	if i < 0 {
		return
	}
	var b strings.Builder
	b.WriteString(p.Topics[i].Text)
	for _, f := range flags(p.Root.PersistentFlags()) {
		fmt.Fprintf(&b, "\n  %-25s  %s", strings.TrimSpace("--"+f.name+" "+f.value), f.text)
	}
	p.Topics[i].Text = b.String()
}
