// Command etrun runs, inspects and verifies ExecuTorch programs.
package main

import "os"

func main() {
	os.Exit(doMain(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
