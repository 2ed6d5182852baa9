// The `troupe` program.
int main() {
  return 0;
}
