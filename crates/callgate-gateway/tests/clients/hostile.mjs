// Texts that would run in a page, were they not written as text.

export const HOSTILE = [
  "<img src=x onerror=window.hit=1>", "<script>window.hit=1</script>", "\"><svg onload=window.hit=1>", "' onmouseover='window.hit=1",
  "javascript:window.hit=1", "</pre></details><iframe srcdoc='<script>parent.hit=1</script>'>", "</style><script>window.hit=1</script>",
  "</title><script>window.hit=1</script>", "<!-- --><base href=//evil.example>", "{{constructor.constructor('window.hit=1')()}}",
];
