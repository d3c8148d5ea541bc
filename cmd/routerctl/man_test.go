package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestManPage holds that routerctl(1) knows every command and every flag.
func TestManPage(t *testing.T) {
	b, err := os.ReadFile("../../etc/man/routerctl.1")
	if err != nil {
		t.Fatal(err)
	}
	// Macros within a line (Oo, Oc, Op) only draw brackets.
	page := strings.NewReplacer(" Oo ", " ", " Op ", " ", " Oc ", " ").Replace(string(b))
	c := &ctl{now: time.Now}
	root := c.root()
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd("show")
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		path := strings.TrimPrefix(cmd.CommandPath(), "routerctl ")
		words := strings.Fields(path)
		switch {
		case words[0] == "completion" && len(words) > 1:
			if !strings.Contains(line(page, "Cm completion "), words[1]) {
				t.Errorf("shell %q is not documented", words[1])
			}
		case !cmd.HasSubCommands() || cmd.Name() == "bgp":
			if line(page, "Cm "+path) == "" {
				t.Errorf("command %q is not documented", path)
			}
		}
		cmd.InitDefaultHelpFlag()
		cmd.Flags().VisitAll(func(f *pflag.Flag) { checkFlag(t, page, path, f) })
		cmd.PersistentFlags().VisitAll(func(f *pflag.Flag) { checkFlag(t, page, path, f) })
		for _, sub := range cmd.Commands() {
			visit(sub)
		}
	}
	visit(root)
	for _, code := range []string{".It 0", ".It 1", ".It 2", ".It 3", ".It 4", ".It 5"} {
		if !strings.Contains(page, code+"\n") {
			t.Errorf("exit status %q is not documented", code)
		}
	}
}

func checkFlag(t *testing.T, page, command string, f *pflag.Flag) {
	if !strings.Contains(page, "Fl Fl "+f.Name) {
		t.Errorf("flag --%s of %q is not documented", f.Name, command)
	}
	if f.Shorthand != "" && !strings.Contains(page, "Fl "+f.Shorthand+" ") {
		t.Errorf("flag -%s of %q is not documented", f.Shorthand, command)
	}
}

// line returns the first item of page that begins with head, or nothing.
func line(page, head string) string {
	for l := range strings.Lines(page) {
		if rest, ok := strings.CutPrefix(l, ".It "+head); ok && (rest[0] == ' ' || rest[0] == '\n' || strings.HasSuffix(head, " ")) {
			return l
		}
	}
	return ""
}
