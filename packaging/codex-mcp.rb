# The Homebrew formula, for a tap of your own. `make release` writes it to release/codex-mcp.rb.
class CodexMcp < Formula
  desc "Codex coding agents for every MCP client"
  homepage "@repository@"
  url "@url@"
  sha256 "@sha256@"
  license all_of: ["Apache-2.0", "MIT"]

  depends_on "git"
  depends_on "python@3.13"

  def install
    system "python3.13", "-m", "venv", libexec
    pip = [libexec/"bin/python", "-m", "pip", "--no-input", "--disable-pip-version-check", "install"]
    system(*pip, "--require-hashes", "--requirement", "requirements/runtime.txt")
    system(*pip, "--no-deps", ".")
    bin.install_symlink Dir[libexec/"bin/codex-mcp*"], libexec/"bin/codex-exec-server"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/codex-mcp --version")
  end
end
